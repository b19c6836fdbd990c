"""A window to drag files out of: offers its arguments as text/uri-list.

Its title is `dragsource`. It says `begin` when a drag starts and `end ACTION`
when it ended, one line each, so that a test can wait for either.
"""

import sys

import gi

gi.require_version("Gtk", "3.0")
gi.require_version("Gdk", "3.0")
from gi.repository import Gdk, GLib, Gtk  # noqa: E402


def main(paths):
    uris = [GLib.filename_to_uri(path, None) for path in paths]
    window = Gtk.Window(title="dragsource")
    window.set_default_size(160, 120)
    box = Gtk.EventBox()
    box.add(Gtk.Label(label="drag me"))
    window.add(box)

    box.drag_source_set(Gdk.ModifierType.BUTTON1_MASK, [], Gdk.DragAction.COPY)
    box.drag_source_add_uri_targets()
    box.connect("drag-data-get", lambda _w, _c, data, _i, _t: data.set_uris(uris))
    box.connect("drag-begin", lambda *_: print("begin", flush=True))
    box.connect("drag-end", lambda _w, context: print("end", int(context.get_selected_action()), flush=True))
    window.connect("destroy", Gtk.main_quit)
    window.show_all()
    print("ready", flush=True)
    Gtk.main()


if __name__ == "__main__":
    main(sys.argv[1:])
