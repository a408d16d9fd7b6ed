//! NumPy arrays and scipy matrices stored in a pickle.

use super::pickle::{Global, Pickle, Value, ValueKind};
use crate::Csr;

/// Why a value is not the expected array or matrix.
pub(crate) type Fault = String;

/// A NumPy array as stored in the file: row order, little-endian.
pub(crate) struct PickledArray<'a> {
    pub(crate) shape: Vec<usize>,
    dtype: Dtype,
    bytes: &'a [u8],
}

#[derive(Clone, Copy, PartialEq)]
enum Dtype {
    I4,
    I8,
    F4,
    F8,
}

impl Dtype {
    fn size(self) -> usize {
        match self {
            Self::I4 | Self::F4 => 4,
            Self::I8 | Self::F8 => 8,
        }
    }
}

impl<'a> PickledArray<'a> {
    /// The array described by `_reconstruct` and its state `(version, shape, dtype, fortran, bytes)`.
    pub(crate) fn from(pickle: &Pickle<'a>, value: Value) -> Result<Self, Fault> {
        let object = pickle.node(value).filter(|node| node.kind == ValueKind::Object(Global::Reconstruct));
        let object = object.ok_or("is not a NumPy array")?;
        let made_from = pickle.tuple(object.args).and_then(|args| args.first());
        if made_from != Some(&Value::Global(Global::Ndarray)) {
            return Err("is not a NumPy array".into());
        }
        let Some(&[_, shape, dtype, Value::Bool(fortran), Value::Bytes(bytes)]) = pickle.tuple(object.state)
        else {
            return Err("an array lacks its shape, type or contents".into());
        };
        let shape = sizes(pickle, shape).ok_or("an array has an invalid shape")?;
        if fortran && shape.len() > 1 {
            return Err("an array is stored in Fortran order, which is not supported".into());
        }
        let dtype = dtype_of(pickle, dtype)?;
        let need = shape.iter().try_fold(dtype.size(), |need, &size| need.checked_mul(size));
        if need != Some(bytes.len()) {
            return Err(format!("an array of shape {shape:?} has {} bytes", bytes.len()));
        }
        Ok(Self { shape, dtype, bytes })
    }

    /// The values as non-negative integers.
    pub(crate) fn to_whole<T: TryFrom<i64>>(&self) -> Result<Vec<T>, Fault> {
        let number = |value: i64| T::try_from(value).map_err(|_| format!("{value} is out of range"));
        match self.dtype {
            Dtype::I4 => self.items().map(|item| number(i32::from_le_bytes(item) as i64)).collect(),
            Dtype::I8 => self.items().map(|item| number(i64::from_le_bytes(item))).collect(),
            Dtype::F4 | Dtype::F8 => Err("expected integers, found floats".into()),
        }
    }

    pub(crate) fn to_f32(&self) -> Vec<f32> {
        match self.dtype {
            Dtype::I4 => self.items().map(|item| i32::from_le_bytes(item) as f32).collect(),
            Dtype::I8 => self.items().map(|item| i64::from_le_bytes(item) as f32).collect(),
            Dtype::F4 => self.items().map(f32::from_le_bytes).collect(),
            Dtype::F8 => self.items().map(|item| f64::from_le_bytes(item) as f32).collect(),
        }
    }

    fn items<const N: usize>(&self) -> impl Iterator<Item = [u8; N]> + '_ {
        self.bytes.as_chunks::<N>().0.iter().copied()
    }
}

/// Reads `dtype('i4', …)`; the second item of its state is the byte order.
fn dtype_of(pickle: &Pickle, value: Value) -> Result<Dtype, Fault> {
    let object = pickle.node(value).filter(|node| node.kind == ValueKind::Object(Global::Dtype));
    let object = object.ok_or("an array has no type")?;
    let order = pickle.tuple(object.state).and_then(|state| state.get(1));
    if order != Some(&Value::Bytes(b"<")) {
        return Err("an array is not little-endian".into());
    }
    match pickle.tuple(object.args).and_then(|args| args.first()) {
        Some(Value::Bytes(b"i4")) => Ok(Dtype::I4),
        Some(Value::Bytes(b"i8")) => Ok(Dtype::I8),
        Some(Value::Bytes(b"f4")) => Ok(Dtype::F4),
        Some(Value::Bytes(b"f8")) => Ok(Dtype::F8),
        Some(Value::Bytes(other)) => Err(format!("unsupported array type '{}'", other.escape_ascii())),
        _ => Err("an array has no type".into()),
    }
}

fn sizes(pickle: &Pickle, shape: Value) -> Option<Vec<usize>> {
    let size = |value: &Value| match value {
        Value::Int(size) => usize::try_from(*size).ok(),
        _ => None,
    };
    pickle.tuple(shape)?.iter().map(size).collect()
}

/// The matrix in a pickled `csr_matrix`.
pub(crate) fn sparse_matrix(pickle: &Pickle) -> Result<Csr, Fault> {
    let object = pickle.node(pickle.root).filter(|node| node.kind == ValueKind::Object(Global::CsrMatrix));
    let state = object.ok_or("is not a scipy csr_matrix")?.state;
    let field = |name: &str| pickle.field(state, name).ok_or_else(|| format!("the matrix has no {name}"));
    let array = |name: &str| {
        PickledArray::from(pickle, field(name)?).map_err(|fault| format!("the matrix's {name}: {fault}"))
    };
    let shape = sizes(pickle, field("_shape")?);
    let Some([rows, cols]) = shape.as_deref() else {
        return Err("the matrix has no two-dimensional _shape".into());
    };
    let offsets: Vec<u64> =
        array("indptr")?.to_whole().map_err(|fault| format!("the matrix's indptr: {fault}"))?;
    if offsets.len().checked_sub(1) != Some(*rows) {
        return Err(format!("the matrix has {} row starts for {rows} rows", offsets.len()));
    }
    let indices = array("indices")?.to_whole().map_err(|fault| format!("the matrix's indices: {fault}"))?;
    Csr::new(*cols, offsets, indices, array("data")?.to_f32()).map_err(|error| error.to_string())
}

/// The class of each row of a one-hot array; a row of zeros is unlabelled.
pub(crate) fn one_hot_classes(pickle: &Pickle) -> Result<Vec<Option<u32>>, Fault> {
    let array = PickledArray::from(pickle, pickle.root)?;
    let &[rows, classes] = &array.shape[..] else {
        return Err(format!("one-hot labels have the shape {:?}", array.shape));
    };
    let values: Vec<i64> = array.to_whole()?;
    if classes == 0 {
        return Err(format!("one-hot labels have {rows} rows and no classes"));
    }
    let class = |(row, values): (usize, &[i64])| {
        let ones = values.iter().filter(|&&value| value == 1).count();
        if ones > 1 || ones + values.iter().filter(|&&value| value == 0).count() != values.len() {
            return Err(format!("row {row} of the labels is not one-hot"));
        }
        Ok(values.iter().position(|&value| value == 1).map(|class| class as u32))
    };
    values.chunks_exact(classes).enumerate().map(class).collect()
}
