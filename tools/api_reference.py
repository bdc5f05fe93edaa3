"""Writes docs/reference/python-api.md from the docstrings of the installed package: `make docs`.

    python tools/api_reference.py [--check]

With --check nothing is written, and the exit code is 1 if the file is out of date.
"""

import ast
import inspect
import re
import sys
from pathlib import Path

import labelflow

TARGET = Path(__file__).resolve().parent.parent / "docs" / "reference" / "python-api.md"

SECTIONS = {
    "Classifiers on features": [
        "LabelFlowClassifier", "TwoStageClassifier", "AdversarialLabels", "GeneralizedExpectation",
    ],
    "Regression from rules": ["LabelFlowRegressor", "MeanRule", "QuantileRule", "MaskRule"],
    "Completion of point clouds": ["PointCloudCompleter"],
    "Label models": [*(model.__name__ for model in labelflow.LABEL_MODELS.values()), "label_model"],
    "Signals": ["Signals"],
    "Streams": ["VoteCounter", "count_votes", "BadRows"],
    "Labeling functions": ["labeling_function", "apply", "Row", "LabelingFunction", "analyze", "krippendorff_alpha"],
    "Exceptions": [
        "ConfigError", "DataError", "FormatError", "TrainingError", "DeviceError", "NotFittedError",
        "LabelingFunctionError", "DataWarning",
    ],
}

#: Modules that need an engine, which may not be installed: their source is read, they are not imported.
MODULES = {"Spark": "spark", "Ray": "ray"}


def to_markdown(docstring: str) -> str:
    """A numpydoc docstring as Markdown: headings in bold, examples as blocks, parameters as a list."""
    text = re.sub(r":(?:class|func|meth):`([^`]+)`", r"`\1`", inspect.cleandoc(docstring))
    lines, out, place, section = text.split("\n"), [], 0, ""
    while place < len(lines):
        line = lines[place]
        if place + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[place + 1]):
            section = line
            out += [f"**{section}**", ""]
            place += 2
            if section == "Examples":
                out.append("```pycon")
                while place < len(lines):
                    out.append(lines[place])
                    place += 1
                out.append("```")
            continue
        if section and line and not line.startswith(" "):
            name, _, kind = line.partition(" : ")
            out.append(f"- `{name}`" + (f": {kind}" if kind else ""))
        elif section and line:
            out.append("  " + line.strip())
        else:
            out.append(line)
        place += 1
    return re.sub(r"(?<!`)``(?!`)", "`", "\n".join(out))


def signature(value: object) -> str:
    parameters = inspect.signature(value).parameters.values()
    return ", ".join(str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters if p.name != "self")


def methods(cls: type) -> list[tuple[str, object]]:
    found = [(name, getattr(cls, name)) for name in dir(cls) if not name.startswith("_")]
    return [(name, value) for name, value in found if inspect.isroutine(value) and value.__doc__]


def entry(name: str, shown: set[str]) -> list[str]:
    value = getattr(labelflow, name)
    is_error = inspect.isclass(value) and issubclass(value, Exception)
    out = [f"### {name}", ""]
    if not is_error:
        star = "" if inspect.isclass(value) else f"`{name}({signature(value)})`\n\n"
        out.append(star + to_markdown(value.__doc__))
    else:
        out.append(f"A `{value.__bases__[0].__name__}`. " + to_markdown(value.__doc__))
    if inspect.isclass(value) and not is_error:
        for method, function in methods(value):
            # Methods that classes inherit are described once.
            if function.__qualname__ in shown:
                continue
            shown.add(function.__qualname__)
            out += ["", f"#### {name}.{method}({signature(function)})", "", to_markdown(function.__doc__)]
    return [*out, ""]


def module_entries(name: str) -> list[str]:
    """The public functions and classes of a module, from its source."""
    tree = ast.parse((Path(labelflow.__file__).parent / f"{name}.py").read_text())
    out = [f"`import labelflow.{name}`. {to_markdown(ast.get_docstring(tree))}", ""]
    for node in tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        out += [f"### {name}.{node.name}", ""]
        if isinstance(node, ast.FunctionDef):
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                argument.annotation = None
            out.append(f"`{name}.{node.name}({ast.unparse(node.args)})`\n")
        out += [to_markdown(ast.get_docstring(node)), ""]
    return out


def page() -> str:
    out = ["# Python API", "", "Written by `make docs` from the docstrings, whose examples are run as tests.", ""]
    shown: set[str] = set()
    for title, names in SECTIONS.items():
        out += [f"## {title}", ""]
        for name in names:
            out += entry(name, shown)
    for title, name in MODULES.items():
        out += [f"## {title}", "", *module_entries(name)]
    return "\n".join(out).rstrip() + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if TARGET.exists() and TARGET.read_text() == page() else f"{TARGET}: run `make docs`")
    TARGET.write_text(page())
