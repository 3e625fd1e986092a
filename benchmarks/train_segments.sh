#!/bin/sh
# Train the shipped weights of GCuts and CClus: sh benchmarks/train_segments.sh [DATA]
# Both levels, without a browser and for rendered pages. Run it again after benchmarks/train.sh, because templateness is one
# of the features. The split `test` is left out.
set -eu
folder="${1:-.data}/segments/random"
for level in top inner; do
    for form in "" -rendered; do
        scrapy pagelets train --segments "$folder" --gold "$folder/gold.jsonl.gz" --level "$level" ${form:+--render} \
            --out "scrapy_pagelets/papers/graph_cuts/gcuts-$level$form.npz"
    done
done
