#!/bin/sh
# The command that made the weights of GCuts and CClus: sh benchmarks/train_segments.sh [DATA]
# For both levels, without a browser and for rendered pages. To be run again after benchmarks/train.sh: templateness is one
# of their features. The split `test` is left out.
set -eu
folder="${1:-.data}/segments/random"
for level in top inner; do
    for form in "" -rendered; do
        scrapy pagelets train --segments "$folder" --gold "$folder/gold.jsonl.gz" --level "$level" ${form:+--render} \
            --out "scrapy_pagelets/segmentation/gcuts-$level$form.npz"
    done
done
