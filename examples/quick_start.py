"""Embed the synthetic demo graph and evaluate the embedding."""

import structcomp

data = structcomp.load_dataset("demo")
model = structcomp.StructComp(random_state=0)
embedding = model.fit_transform(data)
print(data)
print(f"{model.partition_.max() + 1} clusters")

# A model that is trained.
trained = structcomp.StructComp(model="cca-ssg", hidden=128, epochs=20, random_state=0)
cca_ssg = trained.fit_transform(data)
losses = trained.loss_history_
print(f"CCA-SSG: loss {losses[0]:.3f} to {losses[-1]:.3f}")

# Compare with the controls: the features, and the features after two hops.
controls = [("X", data.X), ("Â²X", structcomp.propagate(data))]
for name, x in [("embedding", embedding), ("CCA-SSG", cca_ssg), *controls]:
    accuracy = structcomp.evaluate(x, data.y, runs=10)
    print(f"{name:>10}: test accuracy {accuracy['mean']:.1f} ± {accuracy['std']:.1f} %")
