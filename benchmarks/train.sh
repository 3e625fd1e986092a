#!/bin/sh
# Train the shipped models: sh benchmarks/train.sh [DATA]
# The training data is the sites, the sites of other kinds, and the WCXB development split; news and articles are held
# out. Sites are labelled by roles, and shops by facts (benchmarks/train_roles.py). The cross-validation leaves out
# families of sites (benchmarks/families.json). The automatic model and the page-level classifier of 2007 learn from all
# sites, without what people say of them.
set -eu
data=${1:-.data}
out=scrapy_pagelets/decision
python -m benchmarks train_roles --data "$data" --trees 400 --out "$out/labelled.npz" --folds "$data/models"
scrapy pagelets train "$data/sites" "$data/sites2" "$data/content/wcxb-dev.warc" --base http:// --trees 150 \
    --families benchmarks/families.json --out "$out/automatic.npz"
scrapy pagelets train "$data/sites" "$data/sites2" --page-level --out scrapy_pagelets/papers/page_level.npz
