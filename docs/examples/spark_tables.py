"""Read the tables of the corpus job with Spark: python spark_tables.py FOLDER MASTER."""

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.master(sys.argv[2]).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
pages = spark.read.parquet(f"{sys.argv[1]}/pages")
links = spark.read.parquet(f"{sys.argv[1]}/links").where("role = 'content' AND target IS NOT NULL")
cited = links.groupBy("target").agg(F.countDistinct("page").alias("pages"))
for row in cited.join(pages, cited.target == pages.page).orderBy(F.desc("pages"), "url").limit(3).collect():
    print(row["pages"], row["url"])
spark.stop()
