#include "trireme/data/corpus.hpp"

#include <algorithm>
#include <span>

#include "data/corpus/contents.hpp"
#include "data/corpus/schema.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/positioned_file.hpp"

namespace trireme::data {
namespace fs = std::filesystem;
using archive::hdf5::DatasetReader;

struct Corpus::Storage {
    CorpusContents contents;

    const DatasetReader& dataset(const std::string& name) const { return contents.datasets.at(name); }
};

namespace {

// Throws ConfigError if the file is missing, a folder, or not HDF5. HDF5 itself would complain about signatures
// and superblocks, which users do not know.
void check_is_hdf5(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
        throw ConfigError(cat("the corpus ", path.string(),
                              " does not exist; make it with `trireme prepare INPUT --output ", path.string(),
                              "`"));
    if (fs::is_directory(status))
        throw ConfigError(cat("the corpus ", path.string(), " is a folder; name the .h5 file in it"));

    const archive::PositionedFile file(path);
    constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
    std::string begin(std::min<std::uint64_t>(signature.size(), file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(begin)));
    if (begin.empty())
        throw ConfigError(cat("the corpus ", path.string(), " is empty; ", corpus_schema::repair_advice));
    if (begin != signature)
        throw ConfigError(cat(path.string(),
                              " is not an HDF5 file; make a corpus from it with `trireme prepare ",
                              path.string(), " --output corpus.h5`"));
}

void verify_dataset(const DatasetReader& dataset, const std::string& name, const std::string& path) {
    const std::string computed_hash = dataset.compute_sha256();
    if (computed_hash != dataset.recorded_sha256())
        throw ConfigError(cat(path, " is damaged: the SHA-256 of ", name, " is ", computed_hash, ", but ",
                              dataset.recorded_sha256(), " is recorded; ", corpus_schema::repair_advice));
}

// Throws BugError if `has_part` is false: rows of this kind do not have the part `what`. Also throws BugError
// if the corpus has no row with the number `row`.
void check_row(const CorpusInfo& info, std::uint64_t row, bool has_part, std::string_view what) {
    if (!has_part) throw BugError(cat("rows of the kind \"", to_string(info.kind), "\" have no ", what));
    if (row >= info.rows)
        throw BugError(cat("row ", row, " was requested, but the corpus has ", info.rows, " rows"));
}

// Splits the concatenation of texts that are each terminated by a zero byte.
std::vector<std::string> split_texts(const std::vector<std::uint8_t>& bytes) {
    std::vector<std::string> texts;
    for (auto begin = bytes.begin(); begin != bytes.end();) {
        const auto zero = std::find(begin, bytes.end(), std::uint8_t{0});
        texts.emplace_back(begin, zero);
        begin = zero + 1;
    }
    return texts;
}

}  // namespace

Corpus Corpus::open(const fs::path& path) {
    check_is_hdf5(path);
    archive::hdf5::Handle file = archive::hdf5::open_read_only(path);
    CorpusInfo info = read_attributes(file.get(), path);
    CorpusContents contents = open_contents(std::move(file), info);
    return Corpus(std::move(info), std::unique_ptr<Storage>(new Storage{std::move(contents)}));
}

Corpus::Corpus(CorpusInfo info, std::unique_ptr<Storage> storage)
    : info_(std::move(info)), storage_(std::move(storage)) {}
Corpus::Corpus(Corpus&&) noexcept = default;
Corpus& Corpus::operator=(Corpus&&) noexcept = default;
Corpus::~Corpus() = default;

std::uint64_t Corpus::row_length(std::uint64_t row) const {
    check_row(info_, row, true, "length");
    if (!corpus_schema::has_tokens(info_.kind)) return 0;
    const std::vector<std::uint64_t>& begins = storage_->contents.row_begins;
    return begins[row + 1] - begins[row];
}

void Corpus::read(std::uint64_t row, std::vector<std::uint32_t>& out) const {
    read(row, 0, row_length(row), out);
}

void Corpus::read(std::uint64_t row, std::uint64_t begin, std::uint64_t count,
                  std::vector<std::uint32_t>& out) const {
    check_row(info_, row, corpus_schema::has_tokens(info_.kind), "tokens");
    if (begin > row_length(row) || count > row_length(row) - begin) {
        throw BugError(cat("tokens [", begin, ", ", begin + count, ") of row ", row,
                           " were requested, but the row has ", row_length(row), " tokens"));
    }
    out.resize(count);
    storage_->dataset("/tokens").read(storage_->contents.row_begins[row] + begin, out);
    const auto invalid_token = std::find_if(
        out.begin(), out.end(), [this](std::uint32_t token) { return token >= info_.vocabulary_size; });
    if (invalid_token != out.end())
        throw ConfigError(cat(info_.path, ": token ", *invalid_token, " at position ",
                              begin + static_cast<std::uint64_t>(invalid_token - out.begin()), " of row ", row,
                              " is beyond the vocabulary of ", info_.vocabulary_size, " tokens (tokenizer ",
                              info_.tokenizer_name,
                              "); make the corpus again with the tokenizer of its token ids"));
}

std::uint32_t Corpus::label(std::uint64_t row) const {
    check_row(info_, row, corpus_schema::has_labels(info_.kind), "label");
    const std::uint32_t label = storage_->contents.labels[row];
    if (label >= info_.classes)
        throw ConfigError(cat(info_.path, ": row ", row, " has the label ", label,
                              ", but labels must be below ", info_.classes, "; ",
                              corpus_schema::repair_advice));
    return label;
}

void Corpus::read_image(std::uint64_t row, std::vector<std::uint8_t>& out) const {
    check_row(info_, row, info_.kind == RowKind::image, "pixels");
    out.resize(info_.image.pixels());
    storage_->dataset("/images").read(row * out.size(), out);
}

Question Corpus::find_question_positions(std::uint64_t row) const {
    check_row(info_, row, info_.kind == RowKind::question, "positions of context and answer");
    const std::uint32_t* positions = &storage_->contents.question_positions[3 * row];
    Question question{.context_begin = positions[0],
                      .answer_first = positions[1],
                      .answer_last = positions[2],
                      .answers = {}};
    const std::uint64_t length = row_length(row);
    if (question.context_begin > question.answer_first || question.answer_first > question.answer_last ||
        question.answer_last >= length)
        throw ConfigError(cat(info_.path, ": the answer of row ", row, " is tokens ", question.answer_first,
                              " to ", question.answer_last, ", but its context begins at token ",
                              question.context_begin, " and the row has ", length, " tokens; ",
                              corpus_schema::repair_advice));
    return question;
}

Question Corpus::read_question(std::uint64_t row) const {
    Question question = find_question_positions(row);
    const std::vector<std::uint64_t>& begins = storage_->contents.answer_begins;
    std::vector<std::uint8_t> bytes(begins[row + 1] - begins[row]);
    storage_->dataset("/answers").read(begins[row], bytes);
    if (!bytes.empty() && bytes.back() != 0)
        throw ConfigError(cat(info_.path, ": the last answer of row ", row,
                              " does not end with a zero byte in /answers; ", corpus_schema::repair_advice));
    question.answers = split_texts(bytes);
    return question;
}

Tokenizer Corpus::read_tokenizer() const {
    if (!corpus_schema::has_tokens(info_.kind)) throw BugError("a corpus of images has no tokenizer");
    const std::string bytes = storage_->dataset("/tokenizer").read_all_bytes();
    const std::string computed_hash = sha256_hex(bytes);
    if (computed_hash != info_.tokenizer_hash)
        throw ConfigError(cat(info_.path, " is damaged: its tokenizer ", info_.tokenizer_name, " has the hash ",
                              computed_hash, ", but ", info_.tokenizer_hash, " is recorded; ",
                              corpus_schema::repair_advice));
    return Tokenizer::from_bytes(bytes);
}

void Corpus::verify() const {
    for (const auto& [name, dataset] : storage_->contents.datasets) verify_dataset(dataset, name, info_.path);
}

}  // namespace trireme::data
