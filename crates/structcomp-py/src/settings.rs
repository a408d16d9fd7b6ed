//! Keyword arguments as the library's settings.
//!
//! Every field of `Training`, of its model and of `Partitioning` is a parameter under its own name, so a
//! new one needs no code here.

use crate::errors::{raise, wrong};
use crate::features::Features;
use crate::graph::Graph;
use pyo3::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use structcomp::{Error, Model, Own, Partitioning, Preset, Result, Seed, Training};

/// What was asked for.
pub(crate) struct Settings {
    pub(crate) training: Training,
    pub(crate) partitioning: Partitioning,
}

impl Settings {
    /// From a JSON object of parameters; `null` leaves a default as it is.
    pub(crate) fn read(given: &str) -> PyResult<Self> {
        let given: Map<String, Value> =
            serde_json::from_str(given).map_err(|error| wrong(format!("parameters: {error}")))?;
        Self::from_map(given).map_err(raise)
    }

    fn from_map(mut given: Map<String, Value>) -> Result<Self> {
        let mut settings = Self { training: Training::default(), partitioning: Partitioning::default() };
        if let Some(model) = given.remove("model") {
            settings.training.model = match model.as_str() {
                Some("own") => Model::Own(Own::default()),
                Some(name) => Model::named(name)?,
                None => return Err(Error::Input(format!("model: {model} is no model"))),
            };
        }
        for (name, value) in given {
            if !value.is_null() {
                settings.set(&name, value)?;
            }
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: Value) -> Result<()> {
        let Self { training, partitioning } = self;
        let known = name != "name"
            && (set(&mut training.model, name, &value)?
                || set(&mut training.augment, name, &value)?
                || set(training, name, &value)?
                || set(partitioning, name, &value)?);
        match known {
            true => Ok(()),
            false => Err(Error::Input(format!("{} has no parameter {name}", training.model.name()))),
        }
    }
}

/// Sets a field by its name; whether there is one.
fn set<T: Serialize + DeserializeOwned>(target: &mut T, name: &str, value: &Value) -> Result<bool> {
    let key = key(name);
    let mut fields = fields(target)?;
    let Some(field) = fields.get_mut(&key) else { return Ok(false) };
    *field = hyphenated(value.clone());
    *target = serde_json::from_value(Value::Object(fields))
        .map_err(|error| Error::Input(format!("{name}: {error}")))?;
    Ok(true)
}

/// `weight_decay` is `weight-decay`, and `lambda_`, which Python cannot call `lambda`, is `lambda`.
fn key(name: &str) -> String {
    name.trim_end_matches('_').replace('_', "-")
}

/// The reverse of `key`.
fn parameter(key: &str) -> String {
    if key == "lambda" { "lambda_".into() } else { key.replace('-', "_") }
}

/// One of the words that stand for the values of a type.
pub(crate) fn choice<T: Default + DeserializeOwned>(name: &str, word: Option<&str>) -> PyResult<T> {
    let Some(word) = word else { return Ok(T::default()) };
    serde_json::from_value(word.into()).map_err(|error| wrong(format!("{name}: {error}")))
}

/// A struct from a JSON object whose names have underscores.
pub(crate) fn structured<T: DeserializeOwned>(given: &str) -> PyResult<T> {
    let given: Value = serde_json::from_str(given).map_err(|error| wrong(format!("parameters: {error}")))?;
    serde_json::from_value(hyphenated(given)).map_err(|error| wrong(error.to_string()))
}

fn hyphenated(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (key(&name), hyphenated(value))).collect()
        }
        other => other,
    }
}

/// The parameters of training that are not their defaults, by the names that Python has for them.
pub(crate) fn parameters(training: &Training) -> Result<Map<String, Value>> {
    let mut given = Map::new();
    given.insert("model".into(), training.model.name().into());
    let plain = match &training.model {
        Model::Own(_) => Model::Own(Own::default()),
        model => Model::named(model.name())?,
    };
    let default = Training { model: plain.clone(), ..Training::default() };
    for (own, usual) in [
        (fields(&training.model)?, fields(&plain)?),
        (fields(&training.augment)?, fields(&default.augment)?),
        (fields(training)?, fields(&default)?),
    ] {
        for (key, value) in own {
            if !matches!(&key[..], "model" | "augment" | "name") && usual.get(&key) != Some(&value) {
                given.insert(parameter(&key), value);
            }
        }
    }
    Ok(given)
}

fn fields<T: Serialize>(value: &T) -> Result<Map<String, Value>> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(Error::Input(error.to_string())),
    }
}

/// Our settings or the paper's for a model on a dataset as JSON, if there are any.
#[pyfunction]
pub(crate) fn preset(model: &str, dataset: &str, paper: bool) -> PyResult<Option<String>> {
    Model::named(model).map_err(raise)?;
    let preset = if paper { Preset::paper(model, dataset) } else { Preset::ours(model, dataset) };
    let Some(preset) = preset.map_err(raise)? else { return Ok(None) };
    let mut given = parameters(&preset.training).map_err(raise)?;
    given.insert("n_clusters".into(), preset.clusters.into());
    Ok(Some(Value::Object(given).to_string()))
}

/// How to train on data of which nothing is known, as JSON.
#[pyfunction]
pub(crate) fn recipe(features: &Features, graph: &Graph, seed: u64) -> PyResult<String> {
    let training = Preset::recipe(&graph.inner, &features.inner, Seed(seed));
    Ok(Value::Object(parameters(&training).map_err(raise)?).to_string())
}

/// The names of all models.
#[pyfunction]
pub(crate) fn models() -> Vec<&'static str> {
    Model::NAMES.to_vec()
}

/// All parameters of a model with their defaults as JSON.
#[pyfunction]
pub(crate) fn defaults(model: &str) -> PyResult<String> {
    let training = Training { model: Model::named(model).map_err(raise)?, ..Training::default() };
    let parts = [
        fields(&training.model),
        fields(&training.augment),
        fields(&training),
        fields(&Partitioning::default()),
    ];
    let mut all = Map::new();
    for part in parts {
        for (key, value) in part.map_err(raise)? {
            if !matches!(&key[..], "model" | "augment" | "name") {
                all.entry(parameter(&key)).or_insert(value);
            }
        }
    }
    Ok(Value::Object(all).to_string())
}
