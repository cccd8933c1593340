"""Every snippet of docs/how-to/query-results.md on a small Store: SQL by Python's sqlite3; Python with pandas where that is at hand, else the SQL in it alone. That the
program makes these views is src/store/migrate_test.cpp's.

Usage: sql_test.py
"""
import importlib.util
import os
import re
import sqlite3
import sys
import tempfile
import unittest
import warnings

PAGE = "docs/how-to/query-results.md"
VIEWS = "docs/reference/database.md"  # names every view and its columns


def text_of(path):
    with open(path) as file:
        return file.read()


def snippets(language):
    return re.findall(rf"```{language}\n(.*?)```", text_of(PAGE), re.DOTALL)


class SqlTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="deepgap-test-")
        cls.store = os.path.join(cls.folder.name, "a.db")
        database = sqlite3.connect(cls.store)
        database.executescript(text_of("tests/data/stores/schema-3.sql"))
        database.executescript(re.search(r'R"\((.*?)\)";', text_of("src/store/views.h"), re.DOTALL).group(1))
        # Real Stores have metrics that are called as columns of Records are.
        database.executescript("INSERT INTO metric_names(name) VALUES('load_s'); INSERT INTO metric_values SELECT records.id, metric_names.id, load_s, "
                               "NULL, NULL, 1 FROM records, metric_names WHERE name = 'load_s';")
        database.close()
        cls.database = sqlite3.connect(f"file:{cls.store}?mode=ro", uri=True)

    @classmethod
    def tearDownClass(cls):
        cls.database.close()
        cls.folder.cleanup()

    def query(self, sql):
        cursor = self.database.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor]

    def test_the_page_names_every_column_of_every_view(self):
        shown = dict(re.findall(r"^\| `(v1_\w+)` \|[^|]*\|(.*)\|$", text_of(VIEWS), re.MULTILINE))
        views = [row["name"] for row in self.query("SELECT name FROM sqlite_master WHERE type = 'view' AND name LIKE 'v1_%'")]
        self.assertEqual(sorted(shown), sorted(views))
        for view in views:
            columns = [column[0] for column in self.database.execute(f"SELECT * FROM {view} LIMIT 0").description]
            words = re.findall(r"`(\w+)`", shown[view])
            self.assertEqual([word for word in words if word in columns], columns, view)

    def test_sql(self):
        throughput, cpus, unusable, options = [self.query(sql) for sql in snippets("sql")]
        self.assertEqual([row["repeats"] for row in throughput], [1, 1])
        values = [value for (value,) in self.database.execute("SELECT value FROM metrics WHERE id = 'throughput'")]
        self.assertAlmostEqual(sum(row["throughput"] for row in throughput), sum(values))
        self.assertEqual([row["cpu"] for row in cpus], ["Example CPU @ 2.10GHz"])
        self.assertEqual([(row["outcome"], row["records"]) for row in unusable], [("crashed", 1)])
        self.assertEqual([row["pin"] for row in options], ["on"] * 3)

    def test_python(self):
        pieces = snippets("python")
        self.assertGreaterEqual(len(pieces), 3)
        if importlib.util.find_spec("pandas") is None:
            print("pandas is not here: only the SQL in its snippets was run", file=sys.stderr)
            found = re.findall(r'read_sql_query\((?:"""|")(.*?)(?:"""|")', "\n".join(pieces), re.DOTALL)
            self.assertEqual(len(found), 3)
            for sql in found:
                self.query(sql)
            return
        names = {"store": self.store}
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what pandas warns about today fails tomorrow
            for piece in pieces:
                exec(piece, names)  # the page's own text
        self.assertEqual(len(names["table"]), 3)
        names["database"].close()


if __name__ == "__main__":
    unittest.main()
