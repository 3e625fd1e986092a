"""The corpus job: cleans a whole corpus of archived pages, on DuckDB and worker processes or on Spark."""
