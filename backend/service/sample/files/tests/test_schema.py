import unittest

import schema


class Values(unittest.TestCase):
    def test_order_id(self):
        for raw in ("A-00042", "a42", " A - 42 ", "42"):
            self.assertEqual(schema.clean_order_id(raw), "A-00042")
        for raw in ("B-1", "A-", "A-123456"):
            with self.assertRaises(schema.BadValue):
                schema.clean_order_id(raw)

    def test_date(self):
        for raw in ("2026-09-04", "04.09.2026", "2026/09/04", "4 Sep 2026"):
            self.assertEqual(schema.clean_date(raw), "2026-09-04")
        for raw in ("09/04/26", "2026-13-01", "soon"):
            with self.assertRaises(schema.BadValue):
                schema.clean_date(raw)

    def test_amount(self):
        for raw in ("1234.5", "1,234.50", "€ 1.234,50", "1234.50 EUR"):
            self.assertEqual(schema.clean_amount(raw), "1234.50")
        for raw in ("0", "-3", "free", "nan"):
            with self.assertRaises(schema.BadValue):
                schema.clean_amount(raw)


if __name__ == "__main__":
    unittest.main()
