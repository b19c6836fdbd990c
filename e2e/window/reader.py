"""Reads the accessibility tree of one application for the tests.

One JSON object per line in, one out:
  {"app": "worksite"}                          every node, as [{role, name, text, x, y, w, h, states, depth}]
Nodes that vanish while they are read are left out; the caller reads again.
"""

import json
import sys

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

STATES = {
    "focused": Atspi.StateType.FOCUSED,
    "enabled": Atspi.StateType.ENABLED,
    "showing": Atspi.StateType.SHOWING,
    "checked": Atspi.StateType.CHECKED,
    "selected": Atspi.StateType.SELECTED,
    "expanded": Atspi.StateType.EXPANDED,
}
NOWHERE = Atspi.Rect()
MOST = 20000  # nodes; a page with more is a mistake of the page


def describe(node, depth):
    has = node.get_interfaces()
    box = node.get_extents(Atspi.CoordType.SCREEN) if "Component" in has else NOWHERE
    states = node.get_state_set()
    text = ""
    if "Text" in has:
        length = Atspi.Text.get_character_count(node)
        text = Atspi.Text.get_text(node, 0, min(length, 4000)).replace("\ufffc", "")
    return {
        "role": node.get_role_name(),
        "name": node.get_name() or "",
        "text": text,
        "x": box.x,
        "y": box.y,
        "w": box.width,
        "h": box.height,
        "states": [name for name, state in STATES.items() if states.contains(state)],
        "depth": depth,
    }


def nodes(app):
    out = []
    desktop = Atspi.get_desktop(0)
    stack = []
    for i in range(desktop.get_child_count() - 1, -1, -1):
        child = desktop.get_child_at_index(i)
        if child is not None and child.get_name() == app:
            stack.append((child, 0))
    while stack and len(out) < MOST:
        node, depth = stack.pop()
        try:
            out.append(describe(node, depth))
            children = [node.get_child_at_index(i) for i in range(node.get_child_count())]
        except GLib.Error:
            continue
        stack.extend((child, depth + 1) for child in reversed(children) if child is not None)
    return out


def main():
    for line in sys.stdin:
        try:
            # What was cached may be long gone from the page.
            Atspi.get_desktop(0).clear_cache()
            answer = {"nodes": nodes(json.loads(line)["app"])}
        except GLib.Error as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
