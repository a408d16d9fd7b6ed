//! Settings by their names in the library, so that flags and settings cannot differ.

use anyhow::{Result, bail};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use structcomp::{Error, Model, Training};

/// Sets a parameter of the model for the flag of the same name.
pub(super) fn of_model(model: &mut Model, name: &str, value: Value) -> Result<()> {
    match replace(model, name, value)? {
        true => Ok(()),
        false => bail!("{} has no parameter {name}; leave out --{name}", model.name()),
    }
}

/// Sets what `NAME=VALUE` says, of the model or else of training.
pub(super) fn by_name(training: &mut Training, setting: &str) -> Result<()> {
    let Some((name, text)) = setting.split_once('=') else {
        bail!("--set takes NAME=VALUE, such as reach=5, not '{setting}'")
    };
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let known = name != "name" && name != "model";
    if known && (replace(&mut training.model, name, value.clone())? || replace(training, name, value)?) {
        return Ok(());
    }
    let names =
        |of: Value| of.as_object().map(|of| of.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let mut all = names(serde_json::to_value(&training.model)?);
    all.extend(names(serde_json::to_value(&*training)?));
    all.retain(|name| name != "name" && name != "model");
    bail!("{} has no setting '{name}'; its settings are {}", training.model.name(), all.join(", "))
}

/// Replaces a field by its name; whether there is one.
fn replace<T: Serialize + DeserializeOwned>(of: &mut T, name: &str, value: Value) -> Result<bool> {
    let mut fields = serde_json::to_value(&*of)?;
    let Some(field) = fields.get_mut(name) else { return Ok(false) };
    *field = value.clone();
    *of = serde_json::from_value(fields).map_err(|error| Error::invalid_setting(name, &value, &error))?;
    Ok(true)
}
