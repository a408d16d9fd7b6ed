//! Matrices: dense and sparse rows over owned or mapped buffers, their products, column statistics and
//! eigenvectors.
//!
//! Every result is the same to the bit for any number of threads: work is split into blocks of a fixed size,
//! and partial sums are added in a fixed order.

mod buffer;
mod columns;
mod csr;
mod dense;
pub(crate) mod eigen;
mod elementwise;
mod features;
mod product;
mod simd;
mod sparse_product;
mod symmetric;
pub(crate) mod tall;
mod tiles;

pub(crate) use buffer::open_file;
pub use buffer::{Buffer, MappedFile};
pub(crate) use columns::{column_moments, column_sums, mean_and_variance};
pub use csr::Csr;
pub use dense::Dense;
pub(crate) use elementwise::{copied, dot, exp, map_columns, sum_of_products, zeros};
pub use features::Features;
pub(crate) use product::{PRODUCT_ROWS, Right, Sum, View, product, symmetric_product};
pub(crate) use simd::{Kernel, Unit, prefetch};
pub(crate) use sparse_product::{add_sparse_product, add_sparse_rows, transposed};
pub(crate) use symmetric::{Cholesky, add_gram, multiply};
