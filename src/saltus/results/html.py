"""Runs, tables of events and systems as HTML, which notebooks show: plain tables, no script, no style of their own."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from saltus.solution import Solution

MOST_SHOWN = 20  # of a table: the first and the last ones beyond that


def solution_html(solution: Solution) -> str:
    """Return a run as a table: how it ended, steps, contacts, certificate, energy."""
    name = solution.name or solution.system.name or "system"
    energy = solution.energy
    defect = float(np.max(np.abs(energy.defect), initial=0.0))
    worst = [
        float(np.max(part, initial=0.0)) for part in (solution.residual, solution.violation, solution.admissibility)
    ]
    rows = [
        ("ended", solution.message),
        ("time", f"{solution.t[0]:g} to {solution.t[-1]:g} s, {solution.work['steps']:,} steps"),
        ("coordinates", f"{solution.q.shape[1]} of position, {solution.v.shape[1]} of velocity"),
        ("certificate", f"residual {worst[0]:.1e}, violation {worst[1]:.1e} m, inadmissible forces {worst[2]:.1e}"),
        ("energy", f"{float(energy.dissipation[-1].sum()):.4g} J lost in contacts, defect up to {defect:.1e} J"),
    ]
    if solution.verification is not None:
        rows.append(("verified", solution.verification.sentence))
    body = "".join(f"<tr><th>{escape(key)}</th><td>{escape(text)}</td></tr>" for key, text in rows)
    head = f"<b>{escape(name)}</b> by {escape(solution.scheme.name)}"
    return f"<div>{head}<table>{body}</table>{_contacts(solution) if solution.system.contact_names else ''}</div>"


def _contacts(solution: Solution) -> str:
    """Return what happened at every contact as a table."""
    head = ("contact", "impacts", "other events", "fastest [m/s]", "impulses [N s]", "loss [J]")
    found = solution.events.summary().contacts
    rows = []
    for one in found:
        others = ", ".join(f"{count} {kind}" for kind, count in one.kinds.items() if kind != "impact") or "-"
        numbers = (f"{one.fastest:.4g}", f"{one.impulse:.4g}", f"{one.loss:.4g}") if one.impacts else ("-",) * 3
        rows.append((one.name, str(one.impacts), others, *numbers))
    return _table(head, rows)


def events_html(events: Any) -> str:
    """Return a table of events with its normal components."""
    if events.dtype.names is None or "kind" not in events.dtype.names or events.ndim != 1:
        return f"<pre>{escape(repr(np.asarray(events)))}</pre>"
    head = ("t [s]", "contact", "kind", "u_minus N [m/s]", "u_plus N [m/s]", "impulse N [N s]", "count")
    rows = [
        (
            f"{row['t']:.10g}", str(row["contact"]), str(row["kind"]), f"{row['u_minus'][0]:+.5g}",
            f"{row['u_plus'][0]:+.5g}", f"{row['impulse'][0]:.5g}", str(int(row["count"])),
        )
        for row in events
    ]  # fmt: skip
    return f"<div>{len(events):,} event{'' if len(events) == 1 else 's'}{_table(head, rows)}</div>"


def system_html(system: Any) -> str:
    """Return a system as a table: what it is made of, contacts with their laws."""
    rows = [("name", system.name or "-"), ("coordinates", ", ".join(system.coordinates or ()) or "without names")]
    rows += [(word, str(len(parts))) for word, parts in (("joints", system.joints), ("bodies", system.bodies)) if parts]
    body = "".join(f"<tr><th>{escape(key)}</th><td>{escape(text)}</td></tr>" for key, text in rows)
    contacts = [
        (name, f"{e:g}", f"{mu:g}", contact.impact)
        for name, contact, (e, mu, *_) in zip(system.contact_names, system.contacts, system.laws(), strict=True)
    ]
    table = _table(("contact", "e", "mu", "impacts by"), contacts) if contacts else ""
    return f"<div><b>System</b><table>{body}</table>{table}</div>"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    made = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    if len(lines) > MOST_SHOWN:
        left_out = f'<td colspan="{len(head)}">... {len(lines) - MOST_SHOWN:,} more ...</td>'
        lines = [*lines[: MOST_SHOWN // 2], left_out, *lines[-MOST_SHOWN // 2 :]]
    return f"<table><tr>{made}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
