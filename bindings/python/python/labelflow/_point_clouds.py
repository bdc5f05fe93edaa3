"""Point clouds: checks, and conversion to float64."""

from __future__ import annotations

from typing import Any

import numpy as np


def read_cloud(name: str, cloud: Any) -> np.ndarray:
    """The points of a cloud as a C-contiguous float64 array (n, 3)."""
    points = np.asarray(cloud)
    if points.dtype.kind == "c":
        raise ValueError(f"{name}: expected real coordinates, found complex ones")
    if points.dtype.kind not in "buif":
        try:
            points = points.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: expected an array of coordinates (n_points, 3), found {error}") from error
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"{name}: expected coordinates of shape (n_points, 3), found {points.shape}")
    if not len(points):
        raise ValueError(f"{name}: expected at least one point, found none")
    points = np.ascontiguousarray(points, dtype=np.float64)
    is_finite = np.isfinite(points).all(axis=1)
    if not is_finite.all():
        row = int(np.argmin(is_finite))
        raise ValueError(
            f"{name}: expected finite coordinates, found {points[row].tolist()} in row {row}: "
            "remove the points that were not measured"
        )
    return points


def read_clouds(name: str, clouds: Any) -> list[np.ndarray]:
    """The clouds of a list, or of an array (n_clouds, n_points, 3)."""
    if isinstance(clouds, np.ndarray) and clouds.dtype != object and clouds.ndim != 3:
        raise ValueError(f"{name}: expected a list of clouds (n_points, 3), found an array of shape {clouds.shape}")
    clouds = _listed(name, clouds, "clouds")
    if not clouds:
        raise ValueError(f"{name}: expected at least one cloud, found none")
    return [read_cloud(f"{name}[{place}]", cloud) for place, cloud in enumerate(clouds)]


def read_parts(parts: Any, shapes: list[np.ndarray]) -> list[np.ndarray]:
    """The part of each point of each shape, as uint32."""
    parts = _listed("parts", parts, "arrays, one for each shape")
    if len(parts) != len(shapes):
        raise ValueError(f"parts: expected an array for each of the {len(shapes)} shapes, found {len(parts)}")
    return [_read_parts(f"parts[{place}]", *both) for place, both in enumerate(zip(parts, shapes))]


def _read_parts(name: str, parts: Any, shape: np.ndarray) -> np.ndarray:
    numbers = np.asarray(parts)
    if numbers.shape != (len(shape),):
        raise ValueError(f"{name}: expected a part for each of the {len(shape)} points, found shape {numbers.shape}")
    if numbers.dtype.kind not in "iu":
        raise ValueError(f"{name}: expected whole numbers, found {numbers.dtype}")
    lowest, highest = int(numbers.min()), int(numbers.max())
    if lowest < 0 or highest >= 2**32:
        found = lowest if lowest < 0 else highest
        raise ValueError(f"{name}: expected numbers of parts from 0 to {2**32 - 1}, found {found}")
    if lowest == highest:
        raise ValueError(
            f"{name}: expected several parts, of which some can be removed, found one; "
            "give partial clouds as scans"
        )
    return np.ascontiguousarray(numbers, dtype=np.uint32)


def read_names(names: Any, n_shapes: int) -> list[str]:
    """The names of the shapes: as given, or their positions."""
    if names is None:
        return [str(place) for place in range(n_shapes)]
    names = _listed("names", names, "names, one for each shape")
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"names: expected strings, found {names!r}")
    if len(names) != n_shapes:
        raise ValueError(f"names: expected one for each of the {n_shapes} shapes, found {len(names)}")
    return [str(name) for name in names]


def read_frame(frame: Any, names: tuple[str, ...] = ("auto", "scan", "same")) -> Any:
    """One of these names, or the middle and the radius of the whole object as plain numbers."""
    if isinstance(frame, str) and frame in names:
        return frame
    expected = f"frame: expected {', '.join(map(repr, names))} or (center, radius)"
    if isinstance(frame, str):
        raise ValueError(f"{expected}, found {frame!r}")
    try:
        middle, size = frame
        center = np.asarray(middle, dtype=np.float64)
        radius = float(size)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, found {frame!r}") from None
    if center.shape != (3,) or not np.isfinite(center).all():
        raise ValueError(f"{expected} with a center of three finite numbers, found {frame!r}")
    if not 0.0 < radius < np.inf:
        raise ValueError(f"{expected} with a positive radius, found {frame!r}")
    return center.tolist(), radius


def _listed(name: str, values: Any, what: str) -> list[Any]:
    """The items of an iterable; a text is not a list of letters."""
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name}: expected a list of {what}, found {values!r}")
    return list(values)
