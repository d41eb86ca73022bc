"""The steps of the command, from the arguments to the files."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from kgl.command.arguments import Arguments, parse
from kgl.command.errors import CommandError
from kgl.command.inputs import Inputs, read_inputs
from kgl.command.learning import Learned, learn, make_task
from kgl.command.outputs import (
    Write,
    check_outputs,
    edge_list,
    filled_in,
    graph_file,
    text_file,
    write_all,
)
from kgl.command.summary import score_lines, sentence, strongest
from kgl.command.withheld import Score, predict_withheld

__all__ = ["main"]


def main(words: list[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    words : list of str, optional
        Arguments in place of those of the process.

    Returns
    -------
    int
        0, or 2 after an error, of which standard error has one line.
    """
    if hasattr(sys.stdout, "reconfigure"):  # a terminal may lack letters of a name
        sys.stdout.reconfigure(errors="replace")
    try:
        run(parse(words))
        sys.stdout.flush()
    except (CommandError, ImportError) as error:
        return _fail(str(error))
    except (ValueError, TypeError) as error:  # what the library refuses
        return _fail(" ".join(str(error).split()))
    except MemoryError:
        return _fail("the table is too large for the memory of this machine; use fewer rows")
    except BrokenPipeError:  # such as a pipe into head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
    return 0


def _fail(text: str) -> int:
    print(f"error: {text}", file=sys.stderr)
    return 2


def run(args: Arguments) -> None:
    """Read, learn and write; nothing is written before everything is known."""
    start = time.perf_counter()
    targets = check_outputs(args)
    inputs = read_inputs(args)
    task = make_task(inputs, args)
    n, m = inputs.Y.shape
    _progress(args, f"learning the graph of {m} nodes from {n} rows ...")
    learned = learn(task, inputs, args)
    scores: list[Score] = []
    if "report" in targets or not targets:
        _progress(args, "predicting withheld values ...")
        scores = predict_withheld(task.lighter(learned), inputs, args.seed)
    files: dict[Path, Write] = {}
    for option, path in targets.items():
        if option == "report":
            from kgl.command.report import make_page

            seconds = time.perf_counter() - start
            files[path] = text_file(make_page(inputs, learned, task, args, scores, seconds))
        else:
            files[path] = _writer(option, path, inputs, learned, args)
    write_all(files)
    if not args.quiet:
        for text in learned.warnings:
            print("note:", " ".join(text.split()), file=sys.stderr)
        lines = [] if targets else score_lines(scores, task.estimator._spec.name)
        print(sentence(inputs, learned), *lines, *(f"wrote {path}" for path in files), sep="\n")
    if not targets:
        print("\n".join(strongest(inputs, learned)))


def _progress(args: Arguments, text: str) -> None:
    """Tell someone who waits at a terminal what is going on."""
    if not args.quiet and sys.stderr.isatty():
        print(text, file=sys.stderr)


def _writer(option: str, path: Path, inputs: Inputs, learned: Learned, args: Arguments) -> Write:
    if option == "out":
        return graph_file(inputs, learned, path)
    if option == "edges":
        return edge_list(inputs, learned)
    if option in ("imputed", "imputed_std"):
        return filled_in(inputs, learned, path, std=option == "imputed_std")
    from kgl.command.picture import picture_file

    return picture_file(inputs, learned, args)
