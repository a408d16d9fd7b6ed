//! The library's errors as exceptions.

use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::any::Any;
use structcomp::Error;
use structcomp::memory::human_bytes;

/// `ValueError` for values, `OSError` for files, `MemoryError` for what does not fit into memory.
pub(crate) fn raise(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Io { path, cause } => match cause.raw_os_error() {
            // With a number, Python chooses FileNotFoundError and the like.
            Some(number) => {
                let what = cause.to_string();
                let what = what.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, what, path.into_os_string()))
            }
            None => PyOSError::new_err(text),
        },
        Error::Format { .. } => format_error(text),
        Error::Download { .. } => PyOSError::new_err(text),
        Error::Memory { what, need, budget } => {
            let (need, budget) = (human_bytes(need), human_bytes(budget));
            PyMemoryError::new_err(format!("{what} needs {need}, more than the {budget} available"))
        }
        Error::Absent { name, what, .. } => PyValueError::new_err(format!(
            "{what}; put the files there, or pass as data_dir the folder that has them in {name}"
        )),
        Error::Strict(what) => {
            PyValueError::new_err(format!("the data needs repairs, and strict=True: {what}"))
        }
        _ => PyValueError::new_err(text),
    }
}

/// A `ValueError`.
pub(crate) fn wrong(what: impl Into<String>) -> PyErr {
    PyValueError::new_err(what.into())
}

/// A panic is a bug, but it must not end the interpreter.
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    PyRuntimeError::new_err(format!("internal error in structcomp, please report it: {text}"))
}

/// An invalid file: both an `OSError` and a `ValueError`.
fn format_error(text: String) -> PyErr {
    Python::attach(|py| {
        let class = py.import("structcomp._errors").and_then(|errors| errors.getattr("FormatError"));
        match class.and_then(|class| class.call1((text,))) {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    })
}
