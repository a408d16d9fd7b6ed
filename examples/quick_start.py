"""Train on the synthetic demo graph and evaluate the embedding."""

import structcomp

data = structcomp.load_dataset("demo")
model = structcomp.StructComp(model="cca-ssg", hidden=128, epochs=20, random_state=0)
embedding = model.fit_transform(data)
print(data)
losses = model.loss_history_
print(f"{model.partition_.max() + 1} clusters, loss {losses[0]:.3f} to {losses[-1]:.3f}")

# Compare with the controls: the features, and the features after two hops without training.
for name, x in [("embedding", embedding), ("X", data.X), ("Â²X", structcomp.propagate(data))]:
    accuracy = structcomp.evaluate(x, data.y, runs=10)
    print(f"{name:>10}: test accuracy {accuracy['mean']:.1f} ± {accuracy['std']:.1f} %")
