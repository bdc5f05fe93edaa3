"""Completion of point clouds."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _labelflow
from ._estimators.flow import Flow
from ._inputs.settings import like, plain, seed_of, threads_of
from ._labelflow import CloudCompleter, ConfigError
from ._point_clouds import read_cloud, read_clouds, read_frame, read_names, read_parts

#: Parameters whose value None means the preset's value.
_PARAMETERS = (
    "n_points",
    "n_partial_points",
    "n_steps",
    "d_hidden",
    "d_latent",
    "feature_widths",
    "discriminator_widths",
    "discriminator_head",
    "discriminator_norm",
    "discriminator_blur",
    "base_deviation",
    "likelihood_weight",
    "divergence_weight",
    "adversarial_weight",
    "hausdorff_weight",
    "fidelity_weight",
    "jitter",
)

#: The same for training.
_TRAINING_PARAMETERS = (
    "max_epochs",
    "batch_size",
    "learning_rate",
    "discriminator_rate",
    "warmup_steps",
    "learning_rate_floor",
    "max_gradient_norm",
    "averaging",
    "statistics_batches",
)


#: Parameters that systems other than the flow use too; max_epochs and batch_size are per stage.
_SHARED_PARAMETERS = ("max_epochs", "batch_size", "n_points", "n_partial_points")


@dataclass(kw_only=True, eq=False, repr=False)
class PointCloudCompleter(Flow):
    """Completes partial point clouds. Learns without pairs, from scans and complete shapes that are not theirs.

    The default is a flow; the other systems of the paper's comparison are available by name.

    Parameters
    ----------
    system : {"llf", "pcl2pcl", "mm-pcl2pcl", "mm-pcl2pcl-im", "shape-inversion", "kt-net"}, default="llf"
        The flow, or another system with its published settings. The others use only these parameters: preset,
        n_points, n_partial_points, max_epochs and batch_size (the last two per stage), and settings.
    settings : dict, default=None
        For systems other than "llf": settings that differ from the published ones, by their names in model.toml, such
        as ``{"d_noise": 32, "players": {"learning_rate": 1e-3}}``.
    preset : {None, "paper", "small"}, default=None
        The values of parameters that are None. "paper": as in the paper. None: larger steps that decay, a twentieth
        of the epochs, averaged weights, and a further term that keeps the scan (fidelity_weight). "small" (`--preset
        fast` of the command line): small networks for small clouds, which train in about a minute on two cores.
    n_points, n_partial_points : int, default=None
        Points of complete and of partial clouds in training: 2048 and 1024; small: 256 and 128. A trained model takes scans
        of any size, and gives as many points as wanted.
    max_epochs : int, default=None
        Epochs over the partial clouds: 100; paper: 2000; small: 40.
    batch_size : int, default=None
        Clouds per step: 32; small: 16.
    learning_rate : float, default=None
        Adam's step size, of generator and discriminator: 5e-4; paper: 1e-4; small: 2e-3.
    discriminator_rate : float, default=None
        The discriminator's step size as a share of it: 1.
    warmup_steps : int, default=None
        Steps over which the step size grows at the start: 100; paper: 0.
    learning_rate_floor : float, default=None
        The share of the step size at the end: 0.02; paper: 1.
    max_gradient_norm : float, default=None
        Gradients are clipped to this norm: 1000.
    averaging : float, default=None
        The decay of the moving average of the generator's weights, which the model keeps: 0.999. 0 keeps the last
        weights; paper: 0.
    statistics_batches : int, default=None
        Batches over which normalisation statistics are recomputed with the final weights: 200; small: 40.
    likelihood_weight, divergence_weight : float, default=None
        The weights of the likelihood and of the latent's divergence from a standard normal: 0.1 and 1/128; paper: 1 each.
    adversarial_weight : float, default=None
        The weight of the discriminator's score of a completion: 10.
    hausdorff_weight, fidelity_weight : float, default=None
        The weights of the largest and of the mean distance from a scan's points to its completion: 100 each; the second in
        the paper: 0.
    jitter : float, default=None
        Training scales clouds by 1 ± this and moves them by half as much, for scans whose frame is not known: 0.
    n_steps, d_hidden, d_latent : int, default=None
        Steps of the flow, of three couplings each, the width inside them, and that of the latent: 8, 64 and 128; small: 4, 16
        and 16.
    feature_widths, discriminator_widths, discriminator_head : sequence of int, default=None
        Widths of the layers of the encoder of partial clouds (64, 128, 256, 512), of the discriminator's layers for
        points (64, 128, 128, 256, 128), and of those after them (256, 512); small: (16, 32, 64) twice and (64,).
    discriminator_norm : bool, default=None
        Whether the discriminator's layers for points are normalised over the batch: True.
    discriminator_blur : float, default=None
        The standard deviation of noise on the points that the discriminator sees, of shapes and completions alike: 0.
    base_deviation : float, default=None
        The standard deviation of the base density: 0.2; paper: 1.
    device : {"cpu", "cuda", "wgpu"}, default="cpu"
        The device. The last two need a package that was built with them.
    random_state : int, generator of numpy or None, default=0
        The seed of training.
    n_jobs : int, default=None
        Number of threads; None or -1: one per core. Results do not depend on it.
    verbose : int, default=0
        1 for a progress bar, 2 for lines.
    callback : callable, default=None
        Called after every epoch with a dict of its numbers (epoch, max_epochs, loss, terms, learning_rate,
        gradient_norm). Training ends when it returns a true value.

    Attributes
    ----------
    history_ : list of dict
        The numbers of every epoch.
    n_iter_ : int
        Number of epochs.
    stop_reason_ : str
        Why training ended: "max-epochs" or "interrupted".

    Examples
    --------
    >>> import numpy as np
    >>> from labelflow import PointCloudCompleter
    >>> rng = np.random.default_rng(0)
    >>> boxes = rng.uniform(-1, 1, size=(8, 200, 3)) * rng.uniform(1, 3, size=(8, 1, 3))
    >>> sides = [(box[:, 0] > 0).astype(int) + 2 * (box[:, 1] > 0) for box in boxes]
    >>> model = PointCloudCompleter(
    ...     preset="small", n_points=64, n_partial_points=32, max_epochs=2, batch_size=4, statistics_batches=4
    ... ).fit(boxes, parts=sides)
    >>> scan = boxes[0][sides[0] == 3]
    >>> model.complete(scan, 5, frame="scan").shape
    (5, 64, 3)
    >>> center, radius = model.frame_of(scan)
    >>> model.complete(scan, 2, n_points=500, frame=(center, radius)).shape
    (2, 500, 3)
    """

    _estimator_type = None
    _compiled = CloudCompleter

    system: str = "llf"
    settings: dict[str, Any] | None = None
    preset: str | None = None
    n_points: int | None = None
    n_partial_points: int | None = None
    max_epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    discriminator_rate: float | None = None
    warmup_steps: int | None = None
    learning_rate_floor: float | None = None
    max_gradient_norm: float | None = None
    averaging: float | None = None
    statistics_batches: int | None = None
    likelihood_weight: float | None = None
    divergence_weight: float | None = None
    adversarial_weight: float | None = None
    hausdorff_weight: float | None = None
    fidelity_weight: float | None = None
    jitter: float | None = None
    n_steps: int | None = None
    d_hidden: int | None = None
    d_latent: int | None = None
    feature_widths: Sequence[int] | None = None
    discriminator_widths: Sequence[int] | None = None
    discriminator_head: Sequence[int] | None = None
    discriminator_norm: bool | None = None
    discriminator_blur: float | None = None
    base_deviation: float | None = None
    device: str = "cpu"
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[dict[str, Any]], Any] | None = None

    def fit(self, shapes: Any, scans: Any = None, parts: Any = None, *, names: Any = None) -> Any:
        """Learns from complete shapes, and partial clouds that are not theirs.

        All clouds are moved and scaled into the frame of their own box first, so that units do not matter. Their axes
        do: up must be the same in all of them.

        Parameters
        ----------
        shapes : list of arrays (n_points, 3), or array (n_shapes, n_points, 3)
            Complete clouds, each with as many points as there are.
        scans : list of arrays (n_points, 3), default=None
            Partial clouds, at least two. Without them, partial clouds are cut from the shapes.
        parts : list of integer arrays (n_points,), default=None
            The part that each point of each shape belongs to. Partial clouds are cut by removing some parts, anew at
            every epoch. Give scans or parts.
        names : list of str, default=None
            Names of the shapes, which decide with the seed how they are cut; None: their positions. The command line
            takes the names of their files.

        Returns
        -------
        self
        """
        if scans is not None and parts is not None:
            raise TypeError("fit: expected scans or parts, found both")
        if scans is None and parts is None:
            raise ValueError(
                "fit: expected scans, or the parts of the shapes, of which some can be removed, found neither"
            )
        clouds = read_clouds("shapes", shapes)
        partial_clouds = None if scans is None else read_clouds("scans", scans)
        part_numbers = None if parts is None else read_parts(parts, clouds)
        given_names = read_names(names, len(clouds))
        n_jobs = threads_of(self.n_jobs)
        config = json.dumps(self._config())
        model = self._watched(
            lambda observer: _labelflow.fit_point_cloud_completer(
                config, clouds, given_names, partial_clouds, part_numbers, observer, n_jobs, self.system
            )
        )
        # Attributes are set only after training: an interrupted fit leaves the model as it was.
        self._set_model(model)
        return self

    def complete(
        self,
        scan: Any,
        n: int = 10,
        n_points: int | None = None,
        latent: str = "posterior",
        temperature: float = 1.0,
        keep_input: bool = False,
        frame: Any = "auto",
        random_state: Any = 0,
    ) -> np.ndarray:
        """Completes a scan, in its own place and units.

        Parameters
        ----------
        scan : array (n_points, 3)
        n : int, default=10
            Number of completions. Systems with one completion per scan ("pcl2pcl", "kt-net") give one, and warn if n
            is larger.
        n_points : int, default=None
            Points of each; None: as many as in training.
        latent : {"posterior", "prior"}, default="posterior"
            The distribution of the latent: given the scan, or a standard normal, with which completions differ more
            and some fit less.
        temperature : float, default=1.0
            A factor on the noise: below 1 completions differ less.
        keep_input : bool, default=False
            Whether each completion contains points of the scan.
        frame : {"auto", "scan", "same"} or (center, radius), default="auto"
            The frame of the whole object: see :meth:`frame_of`.
        random_state : int, generator of numpy or None, default=0
            The seed of the noise.

        Returns
        -------
        array (n, n_points, 3)
        """
        self._check_is_fitted()
        points = read_cloud("scan", scan)
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n: expected a number of completions, at least 1, found {n!r}")
        options = {
            "n_completions": int(n),
            "n_points": None if n_points is None else like("n_points", n_points, 1),
            "latent": latent,
            "temperature": like("temperature", temperature, 1.0),
            "keep_input": bool(keep_input),
            "seed": seed_of(random_state),
        }
        if n > 1 and self.model_.is_deterministic:
            warnings.warn(f"{self.model_.system} gives one completion per scan, not {n}", stacklevel=2)
        return self.model_.complete(points, json.dumps(options), read_frame(frame), threads_of(self.n_jobs))

    def frame_of(self, scan: Any, frame: Any = "auto") -> tuple[np.ndarray, float]:
        """The frame of the whole object of a scan: the middle of its box, and its radius around that.

        Parameters
        ----------
        scan : array (n_points, 3)
        frame : {"auto", "scan", "same"} or (center, radius), default="auto"
            "auto": searches the frame whose completions fit the scan best. "scan": the scan's own box, as if nothing
            large were missing. "same": the scan is in the frame of the networks already, in a ball of radius 0.5
            around the origin.

        Returns
        -------
        array (3,) and float
            In the scan's units, as :meth:`complete` takes them.
        """
        self._check_is_fitted()
        points = read_cloud("scan", scan)
        return self.model_.frame_of(points, read_frame(frame), threads_of(self.n_jobs))

    def score_clouds(self, clouds: Any, frame: Any = "scan") -> np.ndarray:
        """The discriminator's scores: about 1 for clouds that look like complete shapes, about 0 for others.

        Parameters
        ----------
        clouds : list of arrays (n_points, 3), or array (n_clouds, n_points, 3)
        frame : {"scan", "same"} or (center, radius), default="scan"
            The frame of all of them; "scan" is the box of each, as in training.

        Returns
        -------
        array (n_clouds,)
        """
        self._check_is_fitted()
        points = read_clouds("clouds", clouds)
        return self.model_.scores(points, read_frame(frame, ("scan", "same")), threads_of(self.n_jobs))

    @classmethod
    def _parameters_of(cls, model: CloudCompleter) -> dict[str, Any]:
        config = json.loads(model.config)
        shared = {"random_state": config.pop("seed"), "device": config.pop("device")}
        if model.system != "llf":
            return {**shared, "system": model.system, "settings": config}
        return {**shared, **config.pop("training"), **config}

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, three_d_array=True),
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "final_rate" in state:  # what 0.1 called it
            state["learning_rate_floor"] = state.pop("final_rate")
        super().__setstate__(state)

    def _config(self) -> dict[str, Any]:
        """The settings as the Rust type of the system reads them."""
        shared = {"seed": seed_of(self.random_state), "device": self.device}
        if self.system != "llf":
            return {**self._config_of_another(), **shared}
        if self.settings is not None:
            raise ConfigError("settings: expected None with system='llf', whose settings are parameters")
        config = json.loads(_labelflow.completer_preset(self.preset))
        self._overwrite(config, _PARAMETERS)
        self._overwrite(config["training"], _TRAINING_PARAMETERS)
        return {**config, **shared}

    def _config_of_another(self) -> dict[str, Any]:
        """The settings of a system other than the flow."""
        for name in (*_PARAMETERS, *_TRAINING_PARAMETERS):
            if name not in _SHARED_PARAMETERS and getattr(self, name) is not None:
                raise ConfigError(
                    f"{name}: expected None with system={self.system!r}, which has no such parameter; see settings"
                )
        given = {name: getattr(self, name) for name in _SHARED_PARAMETERS}
        given = {name: like(name, value, 1) for name, value in given.items() if value is not None}
        config = json.loads(_labelflow.completer_preset(self.preset, str(self.system), **given))
        if self.settings is not None and not isinstance(self.settings, dict):
            raise ConfigError(f"settings: expected a dict, found {self.settings!r}")
        return _merged(config, plain(self.settings or {}))

    def _overwrite(self, settings: dict[str, Any], names: tuple[str, ...]) -> None:
        for name in names:
            value = getattr(self, name)
            if value is not None:
                settings[name] = like(name, value, settings[name])


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A dict with its values replaced by those of another one, at any depth."""
    merged = dict(base)
    for key, change in changes.items():
        inner = merged.get(key)
        both = isinstance(inner, dict) and isinstance(change, dict)
        merged[key] = _merged(inner, change) if both else change
    return merged
