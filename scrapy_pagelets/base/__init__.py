"""What every room uses: characters, words, hashes, arrays, errors, transactions. It knows nothing of pages."""
