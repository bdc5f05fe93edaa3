"""Completion of point clouds: conventions, frames, settings, files, wrong inputs."""

import json
import pickle

import numpy as np
import pytest
from conftest import quick_completer as quick

import labelflow
from labelflow import ConfigError, DataError, NotFittedError, PointCloudCompleter, _labelflow


@pytest.fixture(scope="module")
def fitted(tables):
    return quick().fit(tables.shapes, parts=tables.parts)


@pytest.fixture(scope="module")
def scan(tables):
    return tables.scans[0]


def test_completions_are_where_the_scan_is(fitted, scan):
    clouds = fitted.complete(scan, 3)
    assert clouds.shape == (3, 64, 3) and clouds.dtype == np.float64
    assert np.abs(clouds.mean(axis=(0, 1)) - scan.mean(axis=0)).max() < 5000.0
    assert not np.array_equal(clouds[0], clouds[1])
    np.testing.assert_array_equal(fitted.complete(scan, 3), clouds)
    np.testing.assert_array_equal(fitted.complete(scan.tolist(), n=np.int64(3)), clouds)
    assert fitted.complete(scan).shape == (10, 64, 3)
    assert fitted.complete(scan[:1], 1, frame="scan").shape == (1, 64, 3), "one point is a scan too"


def test_options(fitted, scan):
    def complete(**options):
        return fitted.complete(scan, **{"n": 2, "frame": "scan", **options})

    assert complete(n_points=150).shape == (2, 150, 3)
    usual = complete()
    for options in ({"latent": "prior"}, {"temperature": 0.5}, {"random_state": 1}, {"keep_input": True}):
        assert not np.array_equal(complete(**options), usual), options
    np.testing.assert_array_equal(complete(temperature=0.0)[0], complete(temperature=0)[1])
    kept = complete(keep_input=True)[0]
    distances = np.linalg.norm(kept[:, None] - scan[None], axis=2).min(axis=1)
    assert 5 < (distances < 0.01).sum() < 64, "about a third of the points are the scan's"
    drawn = [complete(random_state=np.random.default_rng(7)) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    assert not np.array_equal(complete(random_state=None), complete(random_state=None))


def test_frames(fitted, tables, scan):
    center, radius = fitted.frame_of(scan, "scan")
    np.testing.assert_allclose(center, (scan.min(axis=0) + scan.max(axis=0)) / 2)
    assert radius == pytest.approx(np.linalg.norm(scan - center, axis=1).max())
    center, radius = fitted.frame_of(scan, "same")
    assert center.tolist() == [0.0, 0.0, 0.0] and radius == 0.5
    center, radius = fitted.frame_of(scan, ([1, 2, 3], 8))
    assert center.tolist() == [1.0, 2.0, 3.0] and radius == 8.0
    center, radius = fitted.frame_of(scan)
    own_center, own_radius = fitted.frame_of(scan, "scan")
    assert own_radius * 0.999 <= radius <= own_radius / 0.4 * 1.001
    assert np.abs(center - own_center).max() < radius
    # In the frame of the networks, completions are the same as elsewhere.
    moved = ((scan - own_center) / own_radius / 2).astype(np.float32)
    there = fitted.complete(moved, 2, frame="same")
    here = fitted.complete(scan, 2, frame="scan")
    np.testing.assert_allclose(there * 2 * own_radius + own_center, here, atol=0.05)
    with pytest.raises(DataError, match="give or search its frame"):
        fitted.complete(scan, frame="same")


def test_scores(fitted, tables):
    scores = fitted.score_clouds(tables.shapes)
    assert scores.shape == (10,) and np.isfinite(scores).all()
    np.testing.assert_allclose(fitted.score_clouds(np.stack(tables.shapes[:2])), scores[:2], rtol=1e-5)
    np.testing.assert_allclose(fitted.score_clouds([shape * 3.0 for shape in tables.shapes]), scores, atol=1e-3)
    of_different_sizes = [tables.shapes[0], tables.shapes[1][:50], tables.shapes[2]]
    np.testing.assert_allclose(fitted.score_clouds(of_different_sizes)[[0, 2]], scores[[0, 2]], rtol=1e-5)
    frame = fitted.frame_of(tables.shapes[0], "scan")
    np.testing.assert_allclose(fitted.score_clouds(tables.shapes[:1], frame), scores[:1], atol=1e-3)
    with pytest.raises(ValueError, match="frame: expected 'scan', 'same' or .center, radius., found 'auto'"):
        fitted.score_clouds(tables.shapes, "auto")


def test_training_with_scans(tables, scan):
    model = quick().fit(tables.shapes, tables.scans)
    assert model.n_iter_ == len(model.history_) == 8 and model.stop_reason_ == "max-epochs"
    assert set(model.history_[0]["terms"]) >= {"discriminator"}
    same = quick().fit(np.stack(tables.shapes), scans=iter(tables.scans))
    np.testing.assert_array_equal(same.complete(scan, 1), model.complete(scan, 1))
    # Units and places do not matter, up to rounding.
    far = quick().fit([0.5 * shape - 1e5 for shape in tables.shapes], tables.scans)
    assert far.history_[0]["loss"] == pytest.approx(model.history_[0]["loss"], rel=1e-3)


def test_names_decide_how_shapes_are_cut(fitted, tables, scan):
    def fit(**given):
        return quick().fit(tables.shapes, parts=tables.parts, **given).complete(scan, 1)

    expected = fitted.complete(scan, 1)
    np.testing.assert_array_equal(fit(names=[str(place) for place in range(10)]), expected)
    assert not np.array_equal(fit(names=[f"table {place}" for place in range(10)]), expected)


def test_it_learns(tables):
    history = quick(max_epochs=150, learning_rate=5e-3).fit(tables.shapes, parts=tables.parts).history_
    distances = [record["terms"]["fidelity"] for record in history]
    assert np.mean(distances[-10:]) < 0.75 * np.mean(distances[:10])


def test_pickle_and_clone(fitted, scan):
    same = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(same.complete(scan, 2), fitted.complete(scan, 2))
    assert same.history_ == fitted.history_ and same.get_params() == fitted.get_params()
    sklearn = pytest.importorskip("sklearn.base")
    clone = sklearn.clone(fitted)
    assert clone.get_params() == fitted.get_params() and not hasattr(clone, "history_")
    assert not sklearn.is_classifier(fitted) and not sklearn.is_regressor(fitted)
    assert repr(PointCloudCompleter(preset="small", jitter=0.1)) == "PointCloudCompleter(preset='small', jitter=0.1)"


def test_folder(fitted, tables, scan, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = PointCloudCompleter.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.complete(scan, 2), fitted.complete(scan, 2))
    assert loaded.history_ == fitted.history_ and loaded.n_iter_ == 8
    given = {name: value for name, value in fitted.get_params().items() if value is not None}
    assert loaded.get_params().items() >= given.items()
    again = loaded.fit(tables.shapes, parts=tables.parts)
    np.testing.assert_array_equal(again.complete(scan, 2), fitted.complete(scan, 2))
    with pytest.raises(labelflow.FormatError, match="expected a model folder"):
        PointCloudCompleter.load(tmp_path / "none")
    with pytest.raises(labelflow.FormatError, match="completion"):
        labelflow.LabelFlowRegressor.load(tmp_path / "model")


def test_every_setting_is_a_parameter():
    config = json.loads(_labelflow.completer_preset())
    settings = {*config, *config.pop("training")} - {"training", "seed"}
    shared = {"system", "settings", "preset", "random_state", "n_jobs", "verbose", "callback"}
    assert set(PointCloudCompleter().get_params()) == settings | shared


def test_presets(tables):
    def config_of(**parameters):
        return PointCloudCompleter(**parameters)._config()

    assert config_of()["n_points"] == 2048 and config_of()["n_partial_points"] == 1024
    assert config_of(preset="paper")["training"]["max_epochs"] == 2000
    small = config_of(preset="small", learning_rate=1, n_points=300)
    assert small["n_points"] == 300 and small["n_partial_points"] == 128
    assert small["training"]["learning_rate"] == 1 and small["training"]["batch_size"] == 16
    with pytest.raises(ConfigError, match="preset: expected None, 'paper' or 'small', found 'fast'"):
        quick(preset="fast").fit(tables.shapes, tables.scans)


SMALL_CODES = {"encoder_widths": [8, 12], "decoder_widths": [16], "statistics_batches": 2}
SETTINGS = {
    "pcl2pcl": SMALL_CODES,
    "mm-pcl2pcl": SMALL_CODES,
    "mm-pcl2pcl-im": SMALL_CODES,
    "shape-inversion": {"discriminator_widths": [8, 12], "inversion": {"n_candidates": 12, "n_iterations": 2}},
    "kt-net": {"encoder_widths": [8, 10, 12], "d_code": 16},
}


def other(system, **parameters):
    parameters = {"n_points": 48, "n_partial_points": 24, "max_epochs": 2, "batch_size": 4, **parameters}
    return PointCloudCompleter(system=system, preset="small", **parameters)


@pytest.mark.parametrize("system", SETTINGS)
def test_other_systems(system, tables, scan, tmp_path):
    settings = SETTINGS[system]
    model = other(system, settings=settings).fit(tables.shapes, parts=tables.parts)
    assert model.model_.system == system
    if system in ("pcl2pcl", "kt-net"):
        with pytest.warns(UserWarning, match="one completion"):
            clouds = model.complete(scan, 3, frame="scan")
        assert clouds.shape == (1, 48, 3)
    else:
        clouds = model.complete(scan, 3, frame="scan")
        assert clouds.shape == (3, 48, 3) and not np.array_equal(clouds[0], clouds[1])
    center, radius = model.frame_of(scan)
    assert center.shape == (3,) and radius > 0
    assert model.score_clouds(tables.shapes).shape == (len(tables.shapes),)
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.complete(scan, 1, frame="scan"), model.complete(scan, 1, frame="scan"))
    model.save(tmp_path / "model")
    loaded = PointCloudCompleter.load(tmp_path / "model")
    assert loaded.system == system and loaded.settings.keys() >= settings.keys()
    np.testing.assert_array_equal(loaded.complete(scan, 1, frame="scan"), model.complete(scan, 1, frame="scan"))
    again = loaded.fit(tables.shapes, parts=tables.parts)
    np.testing.assert_array_equal(again.complete(scan, 1, frame="scan"), model.complete(scan, 1, frame="scan"))


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"system": "pcl"}, "system: expected one of llf, pcl2pcl"),
        ({"system": "pcl2pcl", "jitter": 0.1}, "jitter: expected None with system='pcl2pcl'"),
        ({"system": "pcl2pcl", "settings": {"no_such": 1}}, "unknown field `no_such`"),
        ({"system": "pcl2pcl", "settings": 3}, "settings: expected a dict"),
        ({"system": "llf", "settings": {}}, "settings: expected None"),
        ({"system": "pcl2pcl", "settings": {"players": {"batch_size": 0}}}, "players.batch_size"),
        ({"system": "shape-inversion", "n_points": 33}, "n_points: expected a multiple of 32"),
        ({"system": "kt-net", "settings": {"d_code": 0}}, "d_code: expected at least 1"),
    ],
)
def test_wrong_settings_of_other_systems(tables, parameters, text):
    with pytest.raises(ConfigError, match=text):
        PointCloudCompleter(**parameters).fit(tables.shapes, tables.scans)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"jitter": 1.0}, "jitter: expected a share from 0 to below 1"),
        ({"fidelity_weight": -1.0}, "fidelity_weight: expected a number that is not negative"),
        ({"hausdorff_weight": "much"}, "hausdorff_weight: expected a number, found 'much'"),
        ({"n_steps": 0}, "n_steps: expected at least 1"),
        ({"max_epochs": 1.5}, "max_epochs: expected a whole number"),
        ({"batch_size": 1}, "batch_size: expected at least 2"),
        ({"feature_widths": []}, "feature_widths: expected at least one width"),
        ({"feature_widths": 8}, "PointCloudCompleter: invalid type"),
        ({"device": "abacus"}, "unknown variant `abacus`"),
        ({"random_state": -1}, "random_state: expected a number that is not negative"),
        ({"n_jobs": 0}, "n_jobs: expected None, -1 or a number of threads"),
    ],
)
def test_wrong_settings(tables, parameters, text):
    with pytest.raises(ConfigError, match=text):
        quick(**parameters).fit(tables.shapes, tables.scans)


def test_settings_matter(fitted, tables, scan):
    def fit(**parameters):
        return quick(**parameters).fit(tables.shapes, parts=tables.parts).complete(scan, 1)

    expected = fitted.complete(scan, 1)
    for parameters in (
        {"adversarial_weight": 1.0},
        {"jitter": 0.1},
        {"averaging": 0.0},
        {"discriminator_blur": 0.1},
        {"random_state": 1},
    ):
        assert not np.array_equal(fit(**parameters), expected), parameters
    np.testing.assert_array_equal(fit(n_jobs=1), expected)
    np.testing.assert_array_equal(fit(feature_widths=(8, np.int64(16))), expected)


def test_callback_and_progress(tables, capsys):
    seen = []
    model = quick(max_epochs=50, callback=lambda record: seen.append(record) or record["epoch"] == 2)
    model.fit(tables.shapes, tables.scans)
    assert model.n_iter_ == len(seen) == 3 and model.stop_reason_ == "interrupted"
    assert seen[0]["max_epochs"] == 50
    quick(verbose=2).fit(tables.shapes, tables.scans)
    assert capsys.readouterr().err.splitlines()[-1].startswith("PointCloudCompleter 8/8 loss ")

    def fail(record):
        raise KeyError("mine")

    model = quick(callback=fail)
    with pytest.raises(KeyError, match="mine"):
        model.fit(tables.shapes, tables.scans)
    with pytest.raises(NotFittedError):
        model.complete(tables.scans[0])


CLOUD = np.random.default_rng(0).normal(size=(20, 3))
PARTS = np.arange(20) % 3
BAD = np.where(np.arange(60).reshape(20, 3) == 31, np.nan, CLOUD)


@pytest.mark.parametrize(
    ("shapes", "given", "text"),
    [
        ([CLOUD] * 2, {}, "expected scans, or the parts of the shapes"),
        (CLOUD, {"scans": [CLOUD] * 2}, r"shapes: expected a list of clouds .* found an array of shape \(20, 3\)"),
        ([CLOUD[:, :2]], {"scans": [CLOUD] * 2}, r"shapes\[0\]: expected coordinates of shape .*, found \(20, 2\)"),
        ([CLOUD, CLOUD[0]], {"scans": [CLOUD] * 2}, r"shapes\[1\]: expected coordinates of shape .*, found \(3,\)"),
        ([CLOUD, CLOUD[:0]], {"scans": [CLOUD] * 2}, r"shapes\[1\]: expected at least one point, found none"),
        ([CLOUD], {"scans": [CLOUD, BAD]}, r"scans\[1\]: expected finite coordinates, found .*nan.* in row 10"),
        ([CLOUD * 1j], {"scans": [CLOUD] * 2}, r"shapes\[0\]: expected real coordinates"),
        ([[["a", "b", "c"]]], {"scans": [CLOUD] * 2}, r"shapes\[0\]: .* could not convert string"),
        ([[[1.0, 2.0, 3.0], [1.0]]], {"scans": [CLOUD] * 2}, "inhomogeneous"),
        ([], {"scans": [CLOUD] * 2}, "shapes: expected at least one cloud, found none"),
        (None, {"scans": [CLOUD] * 2}, "shapes: expected a list of clouds, found None"),
        ("shapes", {"scans": [CLOUD] * 2}, "shapes: expected a list of clouds, found 'shapes'"),
        ([CLOUD], {"scans": []}, "scans: expected at least one cloud"),
        ([CLOUD], {"scans": [CLOUD]}, "partial clouds: expected at least two, found 1"),
        ([CLOUD], {"parts": [PARTS]}, "partial clouds: expected at least two, found 1"),
        ([CLOUD] * 2, {"parts": [PARTS]}, "parts: expected an array for each of the 2 shapes, found 1"),
        ([CLOUD] * 2, {"parts": [PARTS, PARTS[:7]]}, r"parts\[1\]: expected a part for each of the 20 points, found shape \(7,\)"),
        ([CLOUD] * 2, {"parts": [PARTS, PARTS * 0.5]}, r"parts\[1\]: expected whole numbers, found float64"),
        ([CLOUD] * 2, {"parts": [PARTS, PARTS - 1]}, r"parts\[1\]: expected numbers of parts from 0 .*, found -1"),
        ([CLOUD] * 2, {"parts": [PARTS, PARTS * 0]}, r"parts\[1\]: expected several parts, .* found one"),
        ([CLOUD] * 2, {"parts": [PARTS] * 2, "names": ["a"]}, "names: expected one for each of the 2 shapes, found 1"),
        ([CLOUD] * 2, {"parts": [PARTS] * 2, "names": [1, 2]}, "names: expected strings"),
        ([np.sign(CLOUD) * 1.7e308] * 2, {"scans": [CLOUD] * 2}, "expected a cloud whose extent is neither nothing nor endless"),
    ],
)
def test_wrong_clouds(shapes, given, text):
    with pytest.raises(ValueError, match=text):
        quick().fit(shapes, **given)


def test_scans_and_parts_together():
    with pytest.raises(TypeError, match="expected scans or parts, found both"):
        quick().fit([CLOUD] * 2, [CLOUD] * 2, [PARTS] * 2)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"scan": CLOUD[None]}, r"scan: expected coordinates of shape .*, found \(1, 20, 3\)"),
        ({"scan": CLOUD[:0]}, "scan: expected at least one point, found none"),
        ({"scan": BAD}, "scan: expected finite coordinates"),
        ({"n": 0}, "n: expected a number of completions, at least 1, found 0"),
        ({"n": 1.5}, "n: expected a number of completions, at least 1, found 1.5"),
        ({"n_points": 0}, "n_points: expected at least 1"),
        ({"n_points": 2.5}, "n_points: expected a whole number"),
        ({"latent": "dream"}, "unknown variant `dream`"),
        ({"temperature": -1.0}, "temperature: expected a number that is not negative"),
        ({"temperature": np.nan}, "temperature: expected a finite number"),
        ({"frame": "big"}, "frame: expected 'auto', 'scan', 'same' or .center, radius., found 'big'"),
        ({"frame": None}, "frame: .* found None"),
        ({"frame": ([0, 0], 1)}, "frame: .* with a center of three finite numbers"),
        ({"frame": ([0, 0, np.inf], 1)}, "frame: .* with a center of three finite numbers"),
        ({"frame": ([0, 0, 0], 0)}, "frame: .* with a positive radius"),
        ({"frame": (0, 0, 0, 1)}, "frame: "),
        ({"random_state": "now"}, "random_state: expected an integer"),
    ],
)
def test_wrong_options(fitted, options, text):
    with pytest.raises(ValueError, match=text):
        fitted.complete(**{"scan": CLOUD, **options})


def test_unfitted():
    for use in ("complete", "frame_of", "score_clouds", "save"):
        with pytest.raises(NotFittedError, match="PointCloudCompleter instance is not fitted yet"):
            getattr(quick(), use)(CLOUD)
