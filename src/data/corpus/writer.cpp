#include <algorithm>

#include "data/corpus/partial_file.hpp"
#include "data/corpus/schema.hpp"
#include "data/hdf5/dataset.hpp"
#include "data/hdf5/file.hpp"

namespace trireme {
using hdf5::DatasetWriter;
using hdf5::Handle;

struct CorpusWriter::Storage {
    PartialFile partial;  // first: removed last, after HDF5 has let go of it
    CorpusInfo info;
    std::string tokenizer_bytes;
    Handle file;
    DatasetWriter tokens;
    DatasetWriter offsets;
    std::vector<std::uint16_t> narrow;  // one row, reused
};

namespace {

std::size_t token_bytes(std::size_t vocabulary) {
    return vocabulary <= corpus_schema::narrow_vocabulary ? 2 : 4;
}

CorpusInfo describe(const std::filesystem::path& path, const Tokenizer& tokenizer, const std::string& source,
                    const std::string& filter, const std::string& licence) {
    CorpusInfo info;
    info.path = path.string();
    info.tokenizer_name = tokenizer.name();
    info.tokenizer_hash = tokenizer.hash();
    info.source = source;
    info.filter = filter;
    info.licence = licence;
    info.vocabulary_size = tokenizer.vocabulary_size();
    info.end_token = tokenizer.end_token();
    info.schema_version = corpus_schema::version;
    return info;
}

void write_attributes(hid_t file, const CorpusInfo& info) {
    hdf5::write_text(file, "format", std::string(corpus_schema::format));
    hdf5::write_number(file, "schema_version", static_cast<std::uint64_t>(info.schema_version));
    hdf5::write_text(file, "tokenizer_name", info.tokenizer_name);
    hdf5::write_text(file, "tokenizer_hash", info.tokenizer_hash);
    hdf5::write_number(file, "vocabulary_size", info.vocabulary_size);
    if (info.end_token) hdf5::write_number(file, "end_token", *info.end_token);
    hdf5::write_text(file, "source", info.source);
    hdf5::write_text(file, "filter", info.filter);
    hdf5::write_text(file, "licence", info.licence);
    hdf5::write_number(file, "rows", info.rows);
    hdf5::write_text(file, "checksum", info.checksum);
}

std::string write_tokenizer(hid_t file, const std::string& bytes) {
    DatasetWriter dataset(file, "/tokenizer", 1, corpus_schema::chunk_tokenizer);
    dataset.append(std::as_bytes(std::span(bytes)));
    return dataset.finish();
}

}  // namespace

CorpusWriter::CorpusWriter(const std::filesystem::path& path, const Tokenizer& tokenizer,
                           const std::string& source, const std::string& filter, const std::string& licence) {
    PartialFile partial(path);
    Handle file = hdf5::create_file(partial.partial_path());
    DatasetWriter tokens(file.get(), "/tokens", token_bytes(tokenizer.vocabulary_size()),
                         corpus_schema::chunk_tokens);
    DatasetWriter offsets(file.get(), "/offsets", sizeof(std::uint64_t), corpus_schema::chunk_offsets);
    const std::uint64_t begin = 0;
    offsets.append(std::as_bytes(std::span(&begin, 1)));
    storage_ = std::make_unique<Storage>(std::move(partial), describe(path, tokenizer, source, filter, licence),
                                         tokenizer.to_bytes(), std::move(file), std::move(tokens),
                                         std::move(offsets), std::vector<std::uint16_t>());
}

CorpusWriter::CorpusWriter(CorpusWriter&&) noexcept = default;
CorpusWriter& CorpusWriter::operator=(CorpusWriter&&) noexcept = default;
CorpusWriter::~CorpusWriter() = default;

void CorpusWriter::add(std::span<const std::uint32_t> row) {
    Storage& storage = *storage_;
    for (const std::uint32_t token : row)
        if (token >= storage.info.vocabulary_size)
            throw BugError(
                cat("token ", token, " of a row is beyond the vocabulary of ", storage.info.vocabulary_size));
    if (token_bytes(storage.info.vocabulary_size) == 2) {
        storage.narrow.resize(row.size());
        std::transform(row.begin(), row.end(), storage.narrow.begin(),
                       [](std::uint32_t token) { return static_cast<std::uint16_t>(token); });
        storage.tokens.append(std::as_bytes(std::span(storage.narrow)));
    } else {
        storage.tokens.append(std::as_bytes(row));
    }
    storage.info.rows += 1;
    storage.info.tokens += row.size();
    storage.offsets.append(std::as_bytes(std::span(&storage.info.tokens, 1)));
}

CorpusInfo CorpusWriter::finish() {
    Storage& storage = *storage_;
    const std::string what = cat("cannot write ", storage.info.path);
    constexpr std::string_view next = "free some space, or name another folder with --output";
    corpus_schema::DatasetSums sums;
    sums.tokens = storage.tokens.finish();
    sums.offsets = storage.offsets.finish();
    sums.tokenizer = write_tokenizer(storage.file.get(), storage.tokenizer_bytes);
    storage.info.checksum = corpus_schema::checksum(storage.info, sums);
    write_attributes(storage.file.get(), storage.info);
    hdf5::check_hdf5(H5Fflush(storage.file.get(), H5F_SCOPE_LOCAL), what, next);
    hdf5::check_hdf5(storage.file.close(), what, next);
    storage.partial.keep();
    return storage.info;
}

}  // namespace trireme
