//! A model of the caller's own: what the encoder must know of it, and the loss as the caller gives it.

use super::{Blueprint, Compared, Contrastive, Head, Loss, Objective, Step, Views};
use crate::{Activation, EncoderKind, Error, Result};
use serde::{Deserialize, Serialize};

/// Which rows the caller's loss is about. The loss itself is an [`OwnObjective`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub struct Own {
    /// Whether a second view, with members dropped, is compared with the first.
    pub two_views: bool,
    /// The width of a projection head behind the encoder; none where absent.
    pub projection: Option<usize>,
}

impl Default for Own {
    fn default() -> Self {
        Self { two_views: true, projection: None }
    }
}

impl Contrastive for Own {
    fn blueprint(&self, _: usize) -> Blueprint {
        let head = |width| Head { width, activation: Activation::Elu, rectified: false };
        let head = self.projection.map(head);
        match self.two_views {
            true => Blueprint {
                views: Views::Two,
                encoder: EncoderKind::Gcn,
                activation: Activation::Prelu,
                head,
                ..Blueprint::default()
            },
            false => Blueprint { head, ..Blueprint::default() },
        }
    }

    fn objective(&self, _: &Compared) -> Result<Box<dyn Objective + Send>> {
        Err(Error::Input("a custom model needs a loss".into()))
    }

    #[cfg(test)]
    fn twin(&self, of: &super::Twin) -> f64 {
        let _ = of;
        f64::NAN // a loss of the caller's has no formula
    }
}

/// A loss, and its gradient in the rows that were compared.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnLoss {
    /// The loss.
    pub value: f64,
    /// One for each view, as long as the view.
    pub gradients: Vec<Vec<f32>>,
}

/// Which rows a caller's loss is about.
#[derive(Clone, Copy, Debug)]
pub struct OwnRows<'a> {
    /// The step, counted over all epochs.
    pub step: usize,
    /// The nodes or clusters that the rows of each view are; all of them, in order, if absent.
    pub nodes: Option<&'a [u32]>,
}

/// What a caller's model computes from the rows of its views.
pub trait OwnObjective: Send {
    /// The loss and its gradient in `views`, each of them rows of `width` values.
    fn loss(&self, views: &[&[f32]], width: usize, of: &OwnRows) -> Result<OwnLoss>;
}

/// The caller's loss as training sees it.
pub(crate) struct Caller<'a> {
    pub(crate) objective: &'a dyn OwnObjective,
    pub(crate) views: usize,
    pub(crate) nodes: Option<&'a [u32]>,
}

impl Objective for Caller<'_> {
    fn loss(&self, z: Vec<f32>, width: usize, step: &Step) -> Result<Loss> {
        let views: Vec<&[f32]> = z.chunks((z.len() / self.views).max(1)).collect();
        let OwnLoss { value, gradients } =
            self.objective.loss(&views, width, &OwnRows { step: step.number, nodes: self.nodes })?;
        if !gradients.iter().map(Vec::len).eq(views.iter().map(|view| view.len())) {
            return Err(Error::Input(
                "the loss must return one gradient per view, of the view's shape".into(),
            ));
        }
        Ok(Loss { value, gradient: gradients.concat(), ..Loss::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{OwnLoss, OwnObjective};
    use crate::sample::Inputs;
    use crate::{Compressed, Dense, Features, Graph, Model, Partition, Result};
    use crate::{Seed, Trainer, Training};

    /// The squared length of all rows, or only the gradients of so many views.
    struct Lengths(usize);

    impl OwnObjective for Lengths {
        fn loss(&self, views: &[&[f32]], width: usize, _: &OwnRows) -> Result<OwnLoss> {
            assert!(views.iter().all(|view| view.len() == 3 * width), "a row a cluster");
            let value = views.iter().flat_map(|view| view.iter()).map(|&z| (z as f64).powi(2)).sum();
            let gradient = |view: &&[f32]| view.iter().map(|z| 2.0 * z).collect();
            Ok(OwnLoss { value, gradients: views.iter().take(self.0).map(gradient).collect() })
        }
    }

    fn losses(own: Own, gradients: usize) -> Result<Vec<f64>> {
        let graph = Graph::from_edges(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])?;
        let values = (0..24).map(|i| ((i * 7) % 5) as f32 - 1.5).collect::<Vec<_>>();
        let x = Features::Dense(Dense::new(6, 4, values)?);
        let partition = Partition::new(vec![0, 0, 1, 1, 2, 2])?;
        let compressed = Compressed::new(&x, &partition)?;
        let training =
            Training { model: Model::Own(own), hidden: 5, learning_rate: 0.05, ..Training::default() };
        let inputs = Inputs::Clusters(&compressed);
        let objective = Box::new(Lengths(gradients));
        let mut trainer = Trainer::new(&training, inputs, &graph, Seed(0), Some(objective))?;
        // Every step is taken, also after one that failed.
        let steps: Vec<Result<f64>> = (0..100).map(|_| trainer.step().map(|epoch| epoch.loss)).collect();
        steps.into_iter().collect()
    }

    #[test]
    fn a_loss_of_the_callers_own_falls() {
        for (two_views, projection) in [(true, None), (false, None), (true, Some(7))] {
            let losses = losses(Own { two_views, projection }, 2).unwrap();
            assert!(losses[99] < 0.1 * losses[0], "{losses:?}");
        }
    }

    #[test]
    fn a_gradient_that_is_missing_is_an_error() {
        let error = losses(Own::default(), 1).unwrap_err();
        assert!(error.to_string().contains("one gradient per view"), "{error}");
    }
}
