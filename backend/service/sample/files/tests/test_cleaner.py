import csv
import io
import pathlib
import tempfile
import unittest

import cleaner

# An export as the older tool writes it.
OLD_EXPORT = """order_id,date,customer,amount,note
A-00001,2026-09-01, Ada   Byron ,"1,200.00",first order
7,02.09.2026,Blaise,€ 99,
A-00001,2026-09-01,Ada Byron,1200,again
A-00009,someday,Chen,12.00,
A-00010,2026-10-03,Dana,free,sample
"""


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class Rows(unittest.TestCase):
    def test_good_rows(self):
        good, summary = cleaner.clean_rows(rows(OLD_EXPORT))
        self.assertEqual([r["order_id"] for r in good], ["A-00001", "A-00007"])
        self.assertEqual(good[0]["customer"], "Ada Byron")
        self.assertEqual(summary.duplicates, 1)
        self.assertEqual(f"{summary.total:.2f}", "1299.00")

    def test_reasons(self):
        _, summary = cleaner.clean_rows(rows(OLD_EXPORT))
        self.assertEqual([line for line, _ in summary.left_out], [5, 6])
        self.assertIn("not a date", summary.left_out[0][1])


class Files(unittest.TestCase):
    def clean(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "in.csv")
            target = pathlib.Path(folder, "new", "out.csv")
            source.write_text(text, encoding="utf-8")
            summary = cleaner.clean_file(source, target)
            return summary, target.read_text(encoding="utf-8")

    def test_old_export(self):
        summary, text = self.clean(OLD_EXPORT)
        self.assertEqual(summary.written, 2)
        self.assertEqual(len(text.splitlines()), 3)

    def test_unknown_column_is_refused(self):
        with self.assertRaisesRegex(cleaner.BadFile, "unknown column: colour"):
            self.clean("order_id,date,customer,amount,colour\n")

    def test_missing_column_is_refused(self):
        with self.assertRaisesRegex(cleaner.BadFile, "missing column: amount"):
            self.clean("order_id,date,customer\n")


if __name__ == "__main__":
    unittest.main()
