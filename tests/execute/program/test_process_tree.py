"""Looks at processes, on tables of a kernel that are written here."""

from pathlib import Path

import pytest

from cloudcmp.execute.program.process_tree import ProcessTree


def _thread(proc: Path, pid: int, tid: int, *, cpu_s: float, ready_s: float = 0.0, state: str = "S") -> None:
    folder = proc / str(pid) / "task" / str(tid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"{cpu_s * 1e9:.0f} {ready_s * 1e9:.0f} 7\n")
    (folder / "stat").write_text(f"{tid} (a (strange) name) {state} 1 " + " ".join(["0"] * 40))
    (folder / "children").write_text("")
    (proc / str(pid) / "statm").write_text("100 25 0 0 0 0 0\n")


def test_time_is_split_by_how_many_threads_can_run(tmp_path: Path) -> None:
    tree = ProcessTree(1, tmp_path)
    _thread(tmp_path, 1, 1, cpu_s=0.0)
    tree.look(10.0)
    _thread(tmp_path, 1, 1, cpu_s=1.0)
    tree.look(11.0)
    _thread(tmp_path, 1, 1, cpu_s=2.0)
    _thread(tmp_path, 1, 2, cpu_s=1.0)
    tree.look(12.0)
    assert tree.parallel_s == {1: 1.0, 2: 2.0}
    assert tree.threads() == [("a (strange) name", 2.0), ("a (strange) name", 1.0)]
    assert tree.blocked_s == pytest.approx(0.0)


def test_a_thread_that_waits_for_a_processor_can_run(tmp_path: Path) -> None:
    tree = ProcessTree(1, tmp_path)
    _thread(tmp_path, 1, 1, cpu_s=0.0)
    _thread(tmp_path, 1, 2, cpu_s=0.0)
    tree.look(0.0)
    _thread(tmp_path, 1, 1, cpu_s=1.0)
    _thread(tmp_path, 1, 2, cpu_s=0.0, state="R")  # the kernel counts its wait when it ends
    tree.look(1.0)
    assert (tree.parallel_s, tree.blocked_s) == ({2: 1.0}, 0.0)


def test_a_time_in_which_no_thread_can_run_is_blocked(tmp_path: Path) -> None:
    tree = ProcessTree(1, tmp_path)
    _thread(tmp_path, 1, 1, cpu_s=0.0)
    tree.look(0.0)
    _thread(tmp_path, 1, 1, cpu_s=0.25, ready_s=0.25)
    tree.look(2.0)
    assert (tree.blocked_s, tree.waited_s) == (1.5, 0.25)


def test_children_count_and_what_has_gone_is_forgotten(tmp_path: Path) -> None:
    tree = ProcessTree(1, tmp_path)
    _thread(tmp_path, 1, 1, cpu_s=0.0)
    _thread(tmp_path, 2, 2, cpu_s=0.5)
    (tmp_path / "1" / "task" / "1" / "children").write_text("2 3 ")
    tree.look(0.0)
    tree.look(1.0)
    assert len(tree.threads()) == 2
    assert tree.peak_bytes == 2 * 25 * 4096


def test_without_the_schedulers_figures_ticks_count(tmp_path: Path) -> None:
    tree = ProcessTree(1, tmp_path)
    _thread(tmp_path, 1, 1, cpu_s=0.0)
    (tmp_path / "1" / "task" / "1" / "schedstat").unlink()
    words = ["0"] * 40
    words[10], words[11] = "150", "50"
    (tmp_path / "1" / "task" / "1" / "stat").write_text(f"1 (a) S {' '.join(words)}")
    tree.look(0.0)
    assert (tree.threads(), tree.knows_waits) == ([("a", 2.0)], False)
