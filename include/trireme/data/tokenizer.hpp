// Converts text to token ids and back without loss: raw bytes, GPT-2's byte-level BPE, or BPE learned from
// texts (Radford et al. 2019, section 2.2; Sennrich et al. 2016, section 3.2).
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

// A byte-level BPE; raw bytes are one without merges. For any bytes x, UTF-8 or not, decode(encode(x)) == x.
// Copies share immutable tables, so that any number of threads may use one tokenizer concurrently.
class Tokenizer {
public:
    // Ids 0-255 are the bytes; 256 is the end token.
    static Tokenizer bytes();

    // Reads a folder with encoder.json and vocab.bpe, or vocab.json and merges.txt, or tokenizer.json; or a
    // tokenizer.json itself. Throws ConfigError, which names the file, for anything but GPT-2 style byte-level
    // BPE.
    static Tokenizer gpt2(const std::filesystem::path& folder_or_file);

    // Learns `vocabulary_size` tokens: 256 bytes, the merges of the most frequent pairs, and last the end
    // token. The bytes of the pairs break ties, so that equal texts give equal tokenizers. The vocabulary is
    // smaller if no remaining pair occurs twice. Throws ConfigError if `vocabulary_size` is below 257.
    static Tokenizer trained(std::span<const std::string> texts, std::size_t vocabulary_size);

    // Restores a tokenizer from to_bytes(). Throws ConfigError for anything else.
    static Tokenizer from_bytes(std::string_view serialised);

    // Returns "bytes", "gpt2" (for OpenAI's vocabulary only) or "bpe-<vocabulary size>".
    const std::string& name() const;

    // Returns the whole tokenizer as a tokenizer.json of Hugging Face. Equal tokenizers give equal bytes,
    // whichever files they came from.
    std::string to_bytes() const;

    // Returns the SHA-256 of to_bytes() as 64 hexadecimal digits.
    std::string hash() const;

    // Number of tokens, including special ones; every id is smaller.
    std::size_t vocabulary_size() const;

    // Returns the id of a special token such as "[MASK]", or nullopt if there is none.
    std::optional<std::uint32_t> special_token(std::string_view spelling) const;
    std::optional<std::uint32_t> end_token() const;

    // Returns a tokenizer that has these special tokens. Missing ones are appended, so that the ids of text do
    // not change. Throws ConfigError for a spelling that is empty, not UTF-8, or that of an ordinary token.
    Tokenizer with_special_tokens(std::span<const std::string> spellings) const;

    // Special tokens in the text are treated as plain text. The second form appends to `ids`.
    std::vector<std::uint32_t> encode(std::string_view text) const;
    void encode(std::string_view text, std::vector<std::uint32_t>& ids) const;

    // Throws ConfigError for an id beyond the vocabulary.
    std::string decode(std::span<const std::uint32_t> ids) const;

private:
    class Tables;

    explicit Tokenizer(std::shared_ptr<const Tables> tables);

    // shared: copies are read by many threads and the tables are megabytes
    std::shared_ptr<const Tables> tables_;
};

// Parses the option `--tokenizer`: bytes, gpt2:DIR or FILE/tokenizer.json. (train:N needs texts: see
// Tokenizer::trained.)
Tokenizer tokenizer_from_option(const std::string& option);

}  // namespace trireme::data
