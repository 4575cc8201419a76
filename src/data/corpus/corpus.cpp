#include "trireme/data/corpus.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "data/corpus/schema.hpp"
#include "data/hdf5/dataset.hpp"
#include "data/hdf5/file.hpp"

namespace trireme {
namespace fs = std::filesystem;
using hdf5::DatasetReader;
using hdf5::Handle;

struct Corpus::Storage {
    Handle file;
    DatasetReader tokens;
    DatasetReader offsets;
    DatasetReader tokenizer;
    std::vector<std::uint64_t> row_begins;  // (rows + 1)
};

namespace {

constexpr std::string_view make_again = "copy it again, or make it again with `trireme prepare`";

// HDF5 speaks of signatures and superblocks; what a user did is most often one of these.
void check_kind(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
        throw ConfigError(cat("the corpus ", path.string(),
                              " does not exist; make it with `trireme prepare INPUT --output ", path.string(),
                              "`"));
    if (fs::is_directory(status))
        throw ConfigError(cat("the corpus ", path.string(), " is a folder; name the .h5 file in it"));

    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw ConfigError(cat("the corpus ", path.string(), " cannot be read: ", std::strerror(errno),
                              "; check its permissions"));
    constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
    std::string begin(signature.size(), '\0');
    file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    if (file.gcount() == 0) throw ConfigError(cat("the corpus ", path.string(), " is empty; ", make_again));
    if (begin != signature)
        throw ConfigError(cat(path.string(),
                              " is not an HDF5 file; a corpus is made from text with `trireme prepare ",
                              path.string(), " --output corpus.h5`"));
}

std::string text_of(const Handle& file, const fs::path& path, const std::string& name) {
    std::optional<std::string> text = hdf5::read_text(file.get(), name);
    if (!text)
        throw ConfigError(
            cat(path.string(), " is damaged: its attribute '", name, "' is missing; ", make_again));
    return std::move(*text);
}

std::uint64_t number_of(const Handle& file, const fs::path& path, const std::string& name) {
    const std::optional<std::uint64_t> number = hdf5::read_number(file.get(), name);
    if (!number)
        throw ConfigError(
            cat(path.string(), " is damaged: its attribute '", name, "' is missing; ", make_again));
    return *number;
}

int schema_of(const Handle& file, const fs::path& path) {
    const std::optional<std::string> format = hdf5::read_text(file.get(), "format");
    if (format != corpus_schema::format)
        throw ConfigError(cat(path.string(),
                              " is an HDF5 file but not a Trireme corpus (its attribute 'format' is ",
                              format ? cat("'", *format, "'") : "missing", ", not '", corpus_schema::format,
                              "'); make one from text with `trireme prepare INPUT --output FILE.h5`"));
    const std::uint64_t version = number_of(file, path, "schema_version");
    if (version > corpus_schema::version)
        throw ConfigError(cat(path.string(), " was written by a newer Trireme (corpus schema ", version,
                              "; this program reads up to ", corpus_schema::version,
                              "); use that version, or make the corpus again with this one"));
    return static_cast<int>(version);
}

CorpusInfo read_attributes(const Handle& file, const fs::path& path) {
    CorpusInfo info;
    info.path = path.string();
    info.schema_version = schema_of(file, path);
    info.tokenizer_name = text_of(file, path, "tokenizer_name");
    info.tokenizer_hash = text_of(file, path, "tokenizer_hash");
    info.source = text_of(file, path, "source");
    info.filter = text_of(file, path, "filter");
    info.licence = text_of(file, path, "licence");
    info.vocabulary_size = number_of(file, path, "vocabulary_size");
    if (const auto end = hdf5::read_number(file.get(), "end_token"))
        info.end_token = static_cast<std::uint32_t>(*end);
    info.rows = number_of(file, path, "rows");
    info.checksum = text_of(file, path, "checksum");
    return info;
}

void check_offsets(const std::vector<std::uint64_t>& begins, const CorpusInfo& info) {
    const std::string damaged = cat(info.path, " is damaged: ");
    if (begins.size() != info.rows + 1)
        throw ConfigError(cat(damaged, "it says ", info.rows, " rows but holds ", begins.size(),
                              " offsets, not ", info.rows + 1, "; ", make_again));
    const auto fall = std::is_sorted_until(begins.begin(), begins.end());
    if (fall != begins.end())
        throw ConfigError(cat(damaged, "/offsets falls from ", *(fall - 1), " to ", *fall, " at row ",
                              fall - begins.begin(), "; ", make_again));
    if (begins.front() != 0 || begins.back() != info.tokens)
        throw ConfigError(cat(damaged, "/offsets runs from ", begins.front(), " to ", begins.back(),
                              " but /tokens holds ", info.tokens, "; ", make_again));
}

void verify_dataset(const DatasetReader& dataset, const std::string& name, const std::string& path) {
    const std::string found = dataset.sha256();
    if (found != dataset.recorded_sha256())
        throw ConfigError(cat(path, " is damaged: the SHA-256 of ", name, " is ", found, ", recorded is ",
                              dataset.recorded_sha256(), "; ", make_again));
}

}  // namespace

Corpus Corpus::open(const fs::path& path) {
    check_kind(path);
    Handle file = hdf5::open_read_only(path);
    CorpusInfo info = read_attributes(file, path);
    DatasetReader tokens(file.get(), path, "/tokens");
    DatasetReader offsets(file.get(), path, "/offsets");
    DatasetReader tokenizer(file.get(), path, "/tokenizer");
    info.tokens = tokens.size();

    const corpus_schema::DatasetSums sums{offsets.recorded_sha256(), tokenizer.recorded_sha256(),
                                          tokens.recorded_sha256()};
    const std::string found = corpus_schema::checksum(info, sums);
    if (found != info.checksum)
        throw ConfigError(cat(info.path, " is damaged: its attributes give the checksum ", found,
                              ", recorded is ", info.checksum, "; ", make_again));
    std::vector<std::uint64_t> begins(offsets.size());
    offsets.read(0, begins);
    check_offsets(begins, info);
    auto storage = std::make_unique<Storage>(std::move(file), std::move(tokens), std::move(offsets),
                                             std::move(tokenizer), std::move(begins));
    return Corpus(std::move(info), std::move(storage));
}

Corpus::Corpus(CorpusInfo info, std::unique_ptr<Storage> storage)
    : info_(std::move(info)), storage_(std::move(storage)) {}
Corpus::Corpus(Corpus&&) noexcept = default;
Corpus& Corpus::operator=(Corpus&&) noexcept = default;
Corpus::~Corpus() = default;

std::uint64_t Corpus::row_length(std::uint64_t row) const {
    if (row >= info_.rows) throw BugError(cat("row ", row, " of a corpus of ", info_.rows, " rows"));
    return storage_->row_begins[row + 1] - storage_->row_begins[row];
}

void Corpus::read(std::uint64_t row, std::vector<std::uint32_t>& out) const {
    read(row, 0, row_length(row), out);
}

void Corpus::read(std::uint64_t row, std::uint64_t begin, std::uint64_t count,
                  std::vector<std::uint32_t>& out) const {
    if (begin > row_length(row) || count > row_length(row) - begin) {
        throw BugError(cat("tokens [", begin, ", ", begin + count, ") of row ", row, " of ", row_length(row)));
    }
    out.resize(count);
    storage_->tokens.read(storage_->row_begins[row] + begin, out);
    const auto beyond = std::find_if(out.begin(), out.end(),
                                     [this](std::uint32_t token) { return token >= info_.vocabulary_size; });
    if (beyond != out.end())
        throw ConfigError(cat(info_.path, ": token ", *beyond, " at position ",
                              begin + static_cast<std::uint64_t>(beyond - out.begin()), " of row ", row,
                              " is beyond the vocabulary of ", info_.vocabulary_size, " (tokenizer ",
                              info_.tokenizer_name, "); make the corpus again with the tokenizer of its ids"));
}

Tokenizer Corpus::tokenizer() const {
    const std::string bytes = storage_->tokenizer.bytes();
    const std::string found = sha256_hex(bytes);
    if (found != info_.tokenizer_hash)
        throw ConfigError(cat(info_.path, " is damaged: its tokenizer ", info_.tokenizer_name, " has the hash ",
                              found, ", recorded is ", info_.tokenizer_hash, "; ", make_again));
    return Tokenizer::from_bytes(bytes);
}

void Corpus::verify() const {
    verify_dataset(storage_->tokenizer, "/tokenizer", info_.path);
    verify_dataset(storage_->offsets, "/offsets", info_.path);
    verify_dataset(storage_->tokens, "/tokens", info_.path);
}

}  // namespace trireme
