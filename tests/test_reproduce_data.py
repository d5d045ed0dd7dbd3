"""Recordings: the ovarian spectra and the MEG epochs, read, fetched, refused, and simulated."""

from __future__ import annotations

import hashlib
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from scipy.io import savemat

import foldless as fl
from foldless_studies.classifiers import RECIPES
from foldless_studies.data import VARIABLE, split
from foldless_studies.estimators import ESTIMATORS
from foldless_studies.paper import meg, ovarian
from foldless_studies.sampling import source, standardized


def spectra(seed=0):
    """Something of the shape of the ovarian data."""
    y = np.repeat([1, 2], ovarian.COUNTS)
    X = np.random.default_rng(seed).normal(size=ovarian.SHAPE).astype(np.float32)
    X[:, :30] += (y == 2)[:, None]
    return X, y


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    return tmp_path


def test_spectra_from_an_npz_file(folder):
    X, y = spectra()
    np.savez(folder / ovarian.ARRAYS, X=X, y=y)
    loaded, labels = ovarian.load(ovarian.find())
    np.testing.assert_array_equal(loaded, X)
    np.testing.assert_array_equal(labels, y - 1)


def test_spectra_from_the_matlab_file(folder, monkeypatch):
    X, y = spectra()
    savemat(folder / ovarian.FILE, {"X": X, "Y": y})
    with pytest.raises(fl.InputError, match=r"not the published file: its SHA-256 is .*, expected 788249f"):
        ovarian.load(ovarian.find())
    monkeypatch.setattr(ovarian, "SHA256", hashlib.sha256((folder / ovarian.FILE).read_bytes()).hexdigest())
    loaded, labels = ovarian.load(ovarian.find())
    np.testing.assert_array_equal(loaded, X)
    assert labels.sum() == 121


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"X": np.zeros((5, 3)), "y": np.arange(5) % 2}, r"expected X \(216, 4000\).*got X \(5, 3\)"),
        ({"Z": np.zeros((5, 3))}, "expected X and Y in it, got Z"),
    ],
)
def test_other_files_are_refused(folder, content, words):
    np.savez(folder / ovarian.ARRAYS, **content)
    with pytest.raises(fl.InputError, match=words):
        ovarian.load(ovarian.find())


def test_without_file_and_pooch_it_says_what_to_do(folder, monkeypatch):
    monkeypatch.setattr(ovarian, "find_spec", lambda name: None)
    with pytest.raises(fl.InputError, match=r"pooch.*not installed: put ovarian_cancer_ex.mat .*FOLDLESS_DATA"):
        ovarian.find()


def test_a_data_folder_that_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(fl.InputError, match="not a folder"):
        ovarian.find()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path):
    """A web server for a folder; its address."""
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / ovarian.FILE).write_bytes(b"spectra")
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=shop))
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}/{ovarian.FILE}"
    httpd.shutdown()
    httpd.server_close()


def test_fetching_checks_the_file(server, tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    right = hashlib.sha256(b"spectra").hexdigest()
    assert ovarian._fetched(server, right).read_bytes() == b"spectra"
    (tmp_path / "cache" / ovarian.FILE).unlink()
    with pytest.raises(fl.InputError, match=r"not the published file.*set FOLDLESS_DATA"):
        ovarian._fetched(server, "0" * 64)
    with pytest.raises(fl.InputError, match=r"could not be downloaded \(HTTPError\)"):
        ovarian._fetched(server.replace(ovarian.FILE, "other"), right)


def test_an_ovarian_sample_is_the_split_it_says_and_rotating_it_changes_nothing(folder):
    X, y = spectra()
    np.savez(folder / ovarian.ARRAYS, X=X, y=y)
    cell = ovarian.OvarianCell(ovarian.find(), 20, "authors", (("share", 20),))
    sample = cell.draw(0, 0)
    assert sample.X.shape == (43, 43)
    model = RECIPES["authors"]().fit(sample.X, sample.y)
    train = split(y - 1, 43, source(0, "ovarian", 20, 0))
    Z, scale = standardized(X[train])
    Z *= np.sqrt(42 / 43)
    np.testing.assert_allclose(Z.std(axis=0, ddof=1), 1.0, rtol=1e-6)  # as MATLAB's std has it
    plain = RECIPES["authors"]().fit(Z, sample.y)
    w = plain.coef_.ravel()
    assert ESTIMATORS["cbauc"].ask(model, sample, 0).estimate == pytest.approx(fl.cbauc(w, Z, sample.y), abs=1e-9)
    published = float(fl.baselines.ebauc(w, Z, sample.y, anchored=False))
    assert ESTIMATORS["ebauc-published"].ask(model, sample, 0).estimate == pytest.approx(published, abs=1e-9)
    test = np.setdiff1d(np.arange(216), train)
    held_out = fl.baselines.delong(y[test], X[test].astype(np.float64) @ (scale * w))
    assert sample.truth(model.coef_.T)[0].auc == pytest.approx(float(held_out), abs=1e-9)


def epochs(n, seed):
    return np.random.default_rng(seed).normal(size=(n, meg.CHANNELS, meg.SAMPLES))


def recording(n1=7, n2=5, n3=6):
    return {
        "train_day1": {"data": epochs(n1, 1), "class": np.arange(n1) % 5 + 1},
        "train_day2": {"data": epochs(n2, 2), "class": np.arange(n2) % 5 + 1},
        "test_day2": {"data": epochs(n3, 3), "class": np.arange(n3) % 5 + 1},
    }


def test_the_meg_recording_is_read_by_part(folder):
    content = recording()
    savemat(folder / meg.FILES[0], content)
    data = meg.recording(meg.find())
    assert data.origin == meg.RECORDED
    assert data.X.shape == (12, 408)
    assert data.X_test.shape == (6, 408)
    np.testing.assert_array_equal(data.day, [1] * 7 + [2] * 5)
    np.testing.assert_array_equal(data.y[:7], [0, 0, 0, 1, 1, 0, 0])
    np.testing.assert_allclose(data.X[7:], meg.features(content["train_day2"]["data"]))
    cell = meg.MegCell(meg.find(), 50, True, (("share", 50),))
    assert cell.draw(0, 0).X.shape == (6, 408)


def test_flat_names_are_understood_too(folder):
    flat = {f"{k}_{part}": v for k, parts in recording().items() for part, v in parts.items()}
    savemat(folder / meg.FILES[0], flat)
    assert meg.load(meg.find()).X.shape == (12, 408)


def test_features_are_level_and_spread_about_a_line():
    one = epochs(2, 5) + np.linspace(0, 9, meg.SAMPLES)
    found = meg.features(one)
    time = np.arange(meg.SAMPLES)
    series = one[1, 17]
    rest = series - np.polyval(np.polyfit(time, series, 1), time)
    assert found[1, 17] == pytest.approx(series.mean(), abs=1e-9)
    assert found[1, meg.CHANNELS + 17] == pytest.approx(rest.std(), abs=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.pop("test_day2"), "names hold day2 and test, got train_day1.data"),
        (lambda c: c["train_day1"].update(data=epochs(7, 1)[:, :9]), r"204 channels.*got \(7, 9, 200\)"),
        (lambda c: c["train_day2"].update({"class": np.arange(4)}), "one label each.*4 labels"),
        (lambda c: c["test_day2"].update({"class": np.arange(6)}), r"got also \[0\]"),
    ],
)
def test_other_recordings_are_refused(folder, change, words):
    content = recording()
    change(content)
    savemat(folder / meg.FILES[0], content)
    with pytest.raises(fl.InputError, match=words):
        meg.load(meg.find())


def test_a_file_that_is_not_matlab(folder):
    (folder / meg.FILES[0]).write_text("hello")
    with pytest.raises(fl.InputError, match="not a MATLAB file"):
        meg.load(meg.find())


def test_the_simulation_has_the_mechanism(monkeypatch):
    """A classifier of day 1 is worse on day 2 than on day 1, and the days are apart."""
    monkeypatch.delenv(VARIABLE, raising=False)
    assert meg.find() is None
    data = meg.recording(None)
    assert (data.X.shape, data.X_test.shape, data.origin) == ((727, 408), (653, 408), "SIMULATED")
    assert np.count_nonzero(data.day == 2) == 50
    inside = meg.MegCell(None, 60, False, ()).draw(0, 0)
    across = meg.MegCell(None, 60, True, ()).draw(0, 0)
    np.testing.assert_array_equal(inside.X, across.X)
    w = RECIPES["liblinear"]().fit(inside.X, inside.y).coef_.T
    assert inside.truth(w)[0].auc > across.truth(w)[0].auc + 0.05
    gap = data.X[data.day == 2].mean(axis=0) - data.X[data.day == 1].mean(axis=0)
    assert np.linalg.norm(gap) > meg.MOVED
