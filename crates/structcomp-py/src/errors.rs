//! The library's errors as Python's.

use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::any::Any;
use structcomp::Error;

/// What a person in Python expects: `ValueError` for values, `OSError` for files.
pub(crate) fn raise(error: Error) -> PyErr {
    let said = error.to_string();
    match error {
        Error::Io { path, cause } => match cause.raw_os_error() {
            // With a number Python makes it a FileNotFoundError and the like.
            Some(number) => {
                let what = cause.to_string();
                let what = what.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, what, path.into_os_string()))
            }
            None => PyOSError::new_err(said),
        },
        Error::Format { .. } => format_error(said),
        Error::Download { .. } => PyOSError::new_err(said),
        Error::Memory { .. } => PyMemoryError::new_err(said),
        _ => PyValueError::new_err(said),
    }
}

/// For `map_err` where the error is ours and about a value.
pub(crate) fn wrong(what: impl Into<String>) -> PyErr {
    PyValueError::new_err(what.into())
}

/// A defect of ours must not end the interpreter.
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let said = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    PyRuntimeError::new_err(format!("this is a defect of structcomp, please report it: {said}"))
}

/// A file that is there but does not hold what it should: both an `OSError` and a `ValueError`.
fn format_error(said: String) -> PyErr {
    Python::attach(|py| {
        let class = py.import("structcomp._errors").and_then(|errors| errors.getattr("FormatError"));
        match class.and_then(|class| class.call1((said,))) {
            Ok(error) => PyErr::from_value(error),
            Err(error) => error,
        }
    })
}
