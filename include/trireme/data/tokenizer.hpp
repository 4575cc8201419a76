// Converts text to token ids and back without loss. A tokenizer uses raw bytes, GPT-2's byte-level BPE, or a
// BPE that was learned from texts (Radford et al. 2019, section 2.2; Sennrich et al. 2016, section 3.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::data {

// A byte-level BPE; raw bytes are a BPE without merges. decode(encode(text)) == text for any bytes, UTF-8 or
// not. A tokenizer is immutable, so that any number of threads may use it concurrently; copies share its
// tables.
class Tokenizer {
public:
    // Makes the tokenizer of raw bytes: ids 0-255 are the bytes, 256 is the end-of-text token.
    static Tokenizer make_raw_bytes();

    // Reads a tokenizer from a file tokenizer.json, or from a folder with one of these: encoder.json and
    // vocab.bpe; vocab.json and merges.txt; tokenizer.json. Throws ConfigError, which names the file, for
    // anything but a byte-level BPE in GPT-2's style.
    static Tokenizer read_gpt2(const std::filesystem::path& folder_or_file);

    // Learns a vocabulary of `vocabulary_size` tokens: 256 bytes, the merges of the most frequent pairs, and
    // last the end-of-text token. Pairs of equal frequency are ordered by their bytes, so that equal texts give
    // equal tokenizers. The vocabulary is smaller if no remaining pair occurs twice. Throws ConfigError if
    // `vocabulary_size` is below 257.
    static Tokenizer train(std::span<const std::string> texts, std::size_t vocabulary_size);

    // Restores a tokenizer from the result of to_bytes(). Throws ConfigError for anything else.
    static Tokenizer from_bytes(std::string_view serialised);

    // Returns "bytes", "gpt2" (for OpenAI's vocabulary only) or "bpe-<vocabulary size>".
    const std::string& name() const;

    // Returns the tokenizer as the text of a tokenizer.json of Hugging Face. Equal tokenizers give equal bytes,
    // whichever files they were read from.
    std::string to_bytes() const;

    // Returns the SHA-256 of to_bytes() as 64 hexadecimal digits.
    std::string compute_hash() const;

    // Number of tokens, including special tokens. Every token id is below this number.
    std::size_t vocabulary_size() const;

    // Returns the id of a special token such as "[MASK]", or nullopt if there is none.
    std::optional<std::uint32_t> find_special_token(std::string_view spelling) const;
    std::optional<std::uint32_t> find_end_token() const;  // <|endoftext|>

    // Returns a copy of the tokenizer that has all special tokens `spellings`. Missing special tokens are
    // appended to the vocabulary, so that texts keep their token ids. Throws ConfigError for a spelling that is
    // empty, is not UTF-8, or belongs to an ordinary token.
    Tokenizer with_special_tokens(std::span<const std::string> spellings) const;

    // Convert a text to token ids. The spelling of a special token in the text counts as ordinary text. The
    // second form appends to `ids`.
    std::vector<std::uint32_t> encode(std::string_view text) const;
    void encode(std::string_view text, std::vector<std::uint32_t>& ids) const;

    // Converts token ids to text. Throws ConfigError for an id beyond the vocabulary.
    std::string decode(std::span<const std::uint32_t> ids) const;

private:
    class Tables;

    explicit Tokenizer(std::shared_ptr<const Tables> tables);

    std::shared_ptr<const Tables> tables_;  // shared by copies, because the tables take megabytes
};

// Returns the tokenizer of the option `--tokenizer`: bytes, gpt2:DIR or the path of a tokenizer.json. Does not
// handle the value train:N, because training needs texts: see Tokenizer::train(). Throws ConfigError.
Tokenizer parse_tokenizer_option(const std::string& option);

}  // namespace trireme::data
