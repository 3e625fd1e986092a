"""Vectors without a model and without a network: hashed words. A real index takes a model in its place."""

from sklearn.feature_extraction.text import HashingVectorizer

_HASHING = HashingVectorizer(n_features=1024, alternate_sign=False, stop_words="english")


def vectors(texts):
    """Return a vector for each text."""
    return _HASHING.transform(texts).toarray().tolist()
