// Text to token ids and back, byte for byte: raw bytes, GPT-2's byte-level BPE, or one learned from the texts
// (Radford et al. 2019, section 2.2; Sennrich et al. 2016, section 3.2).
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

// Every tokenizer here is a byte-level BPE (raw bytes: one without merges) and keeps one promise: for any bytes
// x, UTF-8 or not, decode(encode(x)) == x. A copy shares the tables, which never change: any number of threads
// may use one tokenizer at a time.
class Tokenizer {
public:
    // Ids 0-255 are the bytes, 256 ends a text.
    static Tokenizer bytes();

    // A folder with encoder.json and vocab.bpe, or vocab.json and merges.txt, or tokenizer.json; or a
    // tokenizer.json itself. Throws ConfigError, which names the file, for anything that is not GPT-2 style
    // byte-level BPE.
    static Tokenizer gpt2(const std::filesystem::path& folder_or_file);

    // Learns `vocabulary_size` tokens: 256 bytes, the merges of the most frequent pairs, the end token last.
    // Equal counts are decided by the bytes of the pair, so equal texts give equal tokenizers. The vocabulary
    // is smaller where no pair is left that occurs twice. Throws ConfigError below 257.
    static Tokenizer trained(std::span<const std::string> texts, std::size_t vocabulary_size);

    // What to_bytes() made. Throws ConfigError for anything else.
    static Tokenizer from_bytes(std::string_view serialised);

    // "bytes", "gpt2" (for OpenAI's vocabulary only) or "bpe-<vocabulary size>".
    const std::string& name() const;

    // All there is to know about the tokenizer, as a tokenizer.json of Hugging Face; equal tokenizers give
    // equal bytes, whichever files they came from.
    std::string to_bytes() const;

    // SHA-256 of to_bytes(), 64 hexadecimal digits.
    std::string hash() const;

    // Special tokens included; every id is below it.
    std::size_t vocabulary_size() const;

    // The id of a special token: "<|endoftext|>", "[MASK]".
    std::optional<std::uint32_t> special_token(std::string_view spelling) const;
    std::optional<std::uint32_t> end_token() const;

    // With those special tokens, behind the others where they are missing; the text's ids stay as they are.
    // Throws ConfigError for a spelling that is empty, no UTF-8, or that of a token of the text.
    Tokenizer with_special_tokens(std::span<const std::string> spellings) const;

    // Special tokens in the text are plain text. The second form appends to `ids`.
    std::vector<std::uint32_t> encode(std::string_view text) const;
    void encode(std::string_view text, std::vector<std::uint32_t>& ids) const;

    // Throws ConfigError for an id beyond the vocabulary.
    std::string decode(std::span<const std::uint32_t> ids) const;

private:
    class Tables;

    explicit Tokenizer(std::shared_ptr<const Tables> tables);

    std::shared_ptr<const Tables>
        tables_;  // shared: copies are read by many threads and the tables are megabytes
};

// What `--tokenizer` takes: bytes | gpt2:DIR | FILE/tokenizer.json. (train:N needs texts: see
// Tokenizer::trained.)
Tokenizer tokenizer_from_option(const std::string& option);

}  // namespace trireme::data
