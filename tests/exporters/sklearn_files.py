#!/usr/bin/env python3
"""Exports scikit-learn's estimators, with their own answers. In a virtual environment with scikit-learn and skl2onnx:

    sklearn_files.py FOLDER [WORD]     # those whose name has WORD; then tests/onnx_suite.py DEEPGAP --kind folders --folders FOLDER"""
import warnings

import numpy as np
from cases import Cases
from skl2onnx import to_onnx
from skl2onnx.common.data_types import StringTensorType
from sklearn import (cluster, compose, decomposition, discriminant_analysis, ensemble, feature_extraction, gaussian_process, impute, linear_model,
                     naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree)
from sklearn.datasets import load_diabetes, load_digits, load_iris

warnings.simplefilter("ignore")
cases = Cases("sklearn")
FLOWERS, KINDS = load_iris(return_X_y=True)
PATIENTS, PROGRESS = load_diabetes(return_X_y=True)
DIGITS, DIGIT = load_digits(return_X_y=True)
FLOWERS, PATIENTS, DIGITS = (table.astype(np.float32) for table in (FLOWERS, PATIENTS, DIGITS))


def floats(values):
    return np.asarray(values, np.float32)


def classifier(name, estimator, table=FLOWERS, kinds=KINDS):
    if not cases.wanted(name):
        return
    estimator.fit(table, kinds)
    rows = table[:: len(table) // 7][:7]
    model = to_onnx(estimator, rows[:1], options={id(estimator): {"zipmap": False}})
    cases.write(name, model, {model.graph.input[0].name: rows}, [estimator.predict(rows).astype(np.int64), floats(estimator.predict_proba(rows))])


def regressor(name, estimator):
    if not cases.wanted(name):
        return
    estimator.fit(PATIENTS, PROGRESS)
    rows = PATIENTS[:5]
    model = to_onnx(estimator, rows[:1])
    cases.write(name, model, {model.graph.input[0].name: rows}, [floats(estimator.predict(rows)).reshape(5, -1)])


def transformer(name, estimator, table=FLOWERS):
    if not cases.wanted(name):
        return
    estimator.fit(table)
    model = to_onnx(estimator, table[:1])
    cases.write(name, model, {model.graph.input[0].name: table[:6]}, [floats(estimator.transform(table[:6]))])


def others():
    means = cluster.KMeans(3, n_init=1, random_state=0).fit(FLOWERS)
    cases.write("kmeans", to_onnx(means, FLOWERS[:1]), {"X": FLOWERS[:6]}, [means.predict(FLOWERS[:6]).astype(np.int64), floats(means.transform(FLOWERS[:6]))])
    forest = ensemble.IsolationForest(n_estimators=2, max_samples=32, random_state=0).fit(FLOWERS)
    model = to_onnx(forest, FLOWERS[:1], target_opset={"": 15, "ai.onnx.ml": 3})
    cases.write("isolation", model, {"X": FLOWERS[:6]},
                [forest.predict(FLOWERS[:6]).astype(np.int64).reshape(-1, 1), floats(forest.decision_function(FLOWERS[:6])).reshape(-1, 1)])
    places = np.array([[0], [2], [1], [1]], np.int64)
    one_hot = preprocessing.OneHotEncoder(sparse_output=False).fit(places)
    cases.write("one_hot", to_onnx(one_hot, places[:1]), {"X": places}, [floats(one_hot.transform(places))])
    logistic = linear_model.LogisticRegression(max_iter=500).fit(FLOWERS, KINDS)
    cases.write("zipmap", to_onnx(logistic, FLOWERS[:1]), {"X": FLOWERS[:3]}, [logistic.predict(FLOWERS[:3]).astype(np.int64), None])
    by_name = linear_model.LogisticRegression(max_iter=500).fit(FLOWERS, np.array(["setosa", "versicolor", "virginica"])[KINDS])
    cases.write("string_labels", to_onnx(by_name, FLOWERS[:1], options={id(by_name): {"zipmap": False}}), {"X": FLOWERS[:3]},
                [None, floats(by_name.predict_proba(FLOWERS[:3]))])
    words = feature_extraction.text.TfidfVectorizer().fit(["a small text", "another text here"])
    cases.write("tfidf", to_onnx(words, initial_types=[("text", StringTensorType([None, 1]))]), {"text": np.array([["a small text"]])},
                [floats(words.transform(["a small text"]).toarray())])
    doubles = PATIENTS.astype(np.float64)
    ridge = linear_model.Ridge().fit(doubles, PROGRESS)
    cases.write("double", to_onnx(ridge, doubles[:1]), {"X": doubles[:4]}, [ridge.predict(doubles[:4]).reshape(4, -1)])


def main():
    scaler, few = preprocessing.StandardScaler, {"n_estimators": 5, "random_state": 0}
    classifier("logistic", linear_model.LogisticRegression(max_iter=500))
    classifier("forest", ensemble.RandomForestClassifier(**few))
    classifier("tree", tree.DecisionTreeClassifier(max_depth=4, random_state=0))
    classifier("boosting", ensemble.GradientBoostingClassifier(**few))
    classifier("adaboost", ensemble.AdaBoostClassifier(**few))
    classifier("bagging", ensemble.BaggingClassifier(**few))
    classifier("svc", svm.SVC(probability=True, random_state=0))
    classifier("knn", neighbors.KNeighborsClassifier(3))
    classifier("bayes", naive_bayes.GaussianNB())
    classifier("lda", discriminant_analysis.LinearDiscriminantAnalysis())
    classifier("mlp", neural_network.MLPClassifier((16, 8), max_iter=300, random_state=0))
    classifier("mlp_digits", neural_network.MLPClassifier((32,), max_iter=60, random_state=0), DIGITS, DIGIT)
    classifier("pipeline", pipeline.make_pipeline(scaler(), decomposition.PCA(2), linear_model.LogisticRegression()))
    columns = compose.ColumnTransformer([("a", scaler(), [0, 1]), ("b", preprocessing.MinMaxScaler(), [2, 3])])
    classifier("columns", pipeline.make_pipeline(columns, linear_model.LogisticRegression()))
    regressor("linear", linear_model.LinearRegression())
    regressor("ridge", linear_model.Ridge())
    regressor("forest_regressor", ensemble.RandomForestRegressor(max_depth=5, **few))
    regressor("boosting_regressor", ensemble.GradientBoostingRegressor(**few))
    regressor("svr", svm.SVR())
    regressor("knn_regressor", neighbors.KNeighborsRegressor(3))
    regressor("mlp_regressor", neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=500, random_state=0))
    regressor("poly", pipeline.make_pipeline(preprocessing.PolynomialFeatures(2), linear_model.Ridge()))
    regressor("gaussian_process", gaussian_process.GaussianProcessRegressor(alpha=1e-2))
    gaps = FLOWERS.copy()
    gaps[::3, 1] = np.nan
    transformer("imputer", impute.SimpleImputer(), gaps)
    for name, estimator in (("scaler", scaler()), ("minmax", preprocessing.MinMaxScaler()), ("robust", preprocessing.RobustScaler()),
                            ("power", preprocessing.PowerTransformer()), ("normalizer", preprocessing.Normalizer()),
                            ("binarizer", preprocessing.Binarizer(threshold=2.0)), ("bins", preprocessing.KBinsDiscretizer(3, encode="ordinal")),
                            ("pca", decomposition.PCA(2)), ("svd", decomposition.TruncatedSVD(2))):
        transformer(name, estimator)
    others()


if __name__ == "__main__":
    main()
