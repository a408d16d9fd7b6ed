//! Keyword arguments as the library's settings.
//!
//! Every field of the settings is a parameter under its own name, so a new field needs no code here.

use crate::errors::{raise, wrong};

use pyo3::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use structcomp::model::Own;
use structcomp::{Error, Model, Partitioning, Preset, Result, StructComp, Training};

/// Parameters with other names in Python, and the fields.
const RENAMED: [(&str, &str); 4] =
    [("lambda_", "lambda"), ("n_clusters", "clusters"), ("partitioner", "method"), ("random_state", "seed")];
/// Fields that hold others. Their fields are the parameters.
const SECTIONS: [&str; 9] =
    ["name", "model", "augment", "prepare", "partitioning", "training", "saint", "zoom", "compute"];

/// Settings from a JSON object of parameters; `null` leaves a default as it is.
pub(crate) fn read(given: &str) -> PyResult<StructComp> {
    from_map(object(given)?).map_err(raise)
}

/// The same for a partition alone.
pub(crate) fn partitioning(given: &str) -> PyResult<Partitioning> {
    let mut partitioning = Partitioning::default();
    for (name, value) in object(given)? {
        if !value.is_null() && !set(&mut partitioning, &name, &value).map_err(raise)? {
            return Err(wrong(format!("partition has no parameter '{name}'")));
        }
    }
    Ok(partitioning)
}

fn object(given: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(given).map_err(|error| wrong(format!("parameters: {error}")))
}

fn from_map(mut given: Map<String, Value>) -> Result<StructComp> {
    let mut settings = StructComp::default();
    if let Some(model) = given.remove("model") {
        settings.training.model = match model.as_str() {
            Some("own") => Model::Own(Own::default()),
            Some(name) => Model::named(name)?,
            None => return Err(Error::Input(format!("model: expected a name, not {model}"))),
        };
    }
    for (name, value) in given {
        if !value.is_null() && !set_any(&mut settings, &name, &value)? {
            let model = settings.training.model.name();
            return Err(Error::Input(format!("the model {model} has no parameter '{name}'")));
        }
    }
    let mode = settings.mode;
    if !mode.uses_clusters() && settings.partitioning != Partitioning::default() {
        return Err(Error::Input(format!(
            "mode='{}' trains on {} without clusters; leave out n_clusters, partitioner and its parameters",
            mode.name(),
            mode.title()
        )));
    }
    Ok(settings)
}

fn set_any(settings: &mut StructComp, name: &str, value: &Value) -> Result<bool> {
    Ok(set(&mut settings.training.model, name, value)?
        || set(&mut settings.training.augment, name, value)?
        || set(&mut settings.training, name, value)?
        || set(&mut settings.partitioning, name, value)?
        || set(&mut settings.prepare, name, value)?
        || set(&mut settings.saint, name, value)?
        || set(&mut settings.zoom, name, value)?
        || set(&mut settings.compute, name, value)?
        || set(settings, name, value)?)
}

/// Sets a field by the name of its parameter; whether there is one.
fn set<T: Serialize + DeserializeOwned>(target: &mut T, name: &str, value: &Value) -> Result<bool> {
    let key = key(name);
    let mut fields = fields(target)?;
    let Some(field) = fields.get_mut(&key).filter(|_| is_parameter(&key) && parameter(&key) == name) else {
        return Ok(false);
    };
    *field = hyphenated(value.clone());
    *target = serde_json::from_value(Value::Object(fields))
        .map_err(|error| Error::invalid_setting(name, value, &error))?;
    Ok(true)
}

/// The field of a parameter: `weight_decay` is `weight-decay`.
fn key(name: &str) -> String {
    let renamed = RENAMED.iter().find(|(parameter, _)| *parameter == name);
    renamed.map_or_else(|| name.replace('_', "-"), |(_, key)| (*key).to_owned())
}

/// The reverse of `key`.
fn parameter(key: &str) -> String {
    let renamed = RENAMED.iter().find(|(_, field)| *field == key);
    renamed.map_or_else(|| key.replace('-', "_"), |(name, _)| (*name).to_owned())
}

fn is_parameter(key: &str) -> bool {
    !SECTIONS.contains(&key)
}

/// One of the words that stand for the values of a type.
pub(crate) fn choice<T: Default + DeserializeOwned>(name: &str, word: Option<&str>) -> PyResult<T> {
    let Some(word) = word else { return Ok(T::default()) };
    serde_json::from_value(word.into())
        .map_err(|error| raise(Error::invalid_setting(name, &word.into(), &error)))
}

/// A struct from a JSON object whose names have underscores.
pub(crate) fn structured<T: DeserializeOwned>(given: &str) -> PyResult<T> {
    let given = hyphenated(Value::Object(object(given)?));
    serde_json::from_value(given).map_err(|error| wrong(error.to_string()))
}

fn hyphenated(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name.replace('_', "-"), hyphenated(value))).collect()
        }
        other => other,
    }
}

/// The fields of all sections, from the model's to the outermost.
fn all_fields(settings: &StructComp) -> Result<Vec<(String, Value)>> {
    let StructComp { training, partitioning, prepare, saint, zoom, compute, .. } = settings;
    let sections = [
        fields(&training.model)?,
        fields(&training.augment)?,
        fields(training)?,
        fields(partitioning)?,
        fields(prepare)?,
        fields(saint)?,
        fields(zoom)?,
        fields(compute)?,
        fields(settings)?,
    ];
    Ok(sections.into_iter().flatten().filter(|(key, _)| is_parameter(key)).collect())
}

fn fields<T: Serialize>(value: &T) -> Result<Map<String, Value>> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(Error::Input(error.to_string())),
    }
}

/// The parameters that are not their defaults, and the model's name. The seed is left out, and so is what belongs to a
/// loss of Python's own.
pub(crate) fn parameters(settings: &StructComp) -> Result<Map<String, Value>> {
    let model = match &settings.training.model {
        own @ Model::Own(_) => own.clone(),
        model => Model::named(model.name())?,
    };
    let training = Training { model, ..Training::default() };
    let usual = StructComp { training, seed: settings.seed, ..StructComp::default() };
    let mut given = Map::new();
    given.insert("model".into(), settings.training.model.name().into());
    for ((key, value), (_, default)) in all_fields(settings)?.into_iter().zip(all_fields(&usual)?) {
        if value != default {
            given.insert(parameter(&key), value);
        }
    }
    Ok(given)
}

/// Our settings or the paper's for a model on a dataset as JSON, if there are any.
#[pyfunction]
pub(crate) fn preset(model: &str, dataset: &str, paper: bool) -> PyResult<Option<String>> {
    Model::named(model).map_err(raise)?;
    let preset = if paper { Preset::paper(model, dataset) } else { Preset::ours(model, dataset) };
    let Some(Preset { clusters, training, .. }) = preset.map_err(raise)? else { return Ok(None) };
    let partitioning = Partitioning { clusters, ..Partitioning::default() };
    let settings = StructComp { training, partitioning, ..StructComp::default() };
    Ok(Some(Value::Object(parameters(&settings).map_err(raise)?).to_string()))
}

/// The names of all models.
#[pyfunction]
pub(crate) fn models() -> Vec<&'static str> {
    Model::NAMES.to_vec()
}

/// All parameters of a model with their defaults, as JSON.
#[pyfunction]
pub(crate) fn defaults(model: &str) -> PyResult<String> {
    let training = Training { model: Model::named(model).map_err(raise)?, ..Training::default() };
    let settings = StructComp { training, ..StructComp::default() };
    let mut all = Map::new();
    for (key, value) in all_fields(&settings).map_err(raise)? {
        all.entry(parameter(&key)).or_insert(value);
    }
    Ok(Value::Object(all).to_string())
}
