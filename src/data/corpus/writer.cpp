#include <algorithm>

#include "data/corpus/partial_file.hpp"
#include "data/corpus/schema.hpp"
#include "data/hdf5/dataset.hpp"
#include "data/hdf5/file.hpp"

namespace trireme {
using hdf5::DatasetWriter;
using hdf5::Handle;

// Lets go of an unfinished file without writing what is left of it.
struct AbandonUnfinished {
    const Handle& file;
    ~AbandonUnfinished() { hdf5::abandon(file); }
};

struct CorpusWriter::Storage {
    Storage(PartialFile partial_file, CorpusInfo corpus_info)
        : partial(std::move(partial_file)),
          info(std::move(corpus_info)),
          file(hdf5::create_file(partial.partial_path())),
          tokens(file.get(), "/tokens", token_bytes(info.vocabulary_size), corpus_schema::chunk_tokens),
          offsets(file.get(), "/offsets", sizeof(std::uint64_t), corpus_schema::chunk_offsets),
          tokenizer(file.get(), "/tokenizer", 1, corpus_schema::chunk_tokenizer) {}

    static std::size_t token_bytes(std::size_t vocabulary) {
        return vocabulary <= corpus_schema::narrow_vocabulary ? 2 : 4;
    }

    // HDF5 writes late, and crashes over a file whose last bytes the disk refused. So the space is taken first.
    void reserve(std::uint64_t more_tokens) {
        constexpr std::uint64_t beside = 1 << 19;  // begun chunks of three datasets, headers, attributes
        const std::uint64_t data = (info.tokens + more_tokens) * token_bytes(info.vocabulary_size) +
                                   (info.rows + 2) * sizeof(std::uint64_t) + tokenizer_size;
        partial.reserve(data + data / 100 + beside);  // the index of the chunks takes less than a hundredth
    }

    PartialFile partial;  // destroyed last: removed once HDF5 has let go of it
    CorpusInfo info;
    std::uint64_t tokenizer_size = 0;  // bytes
    Handle file;
    DatasetWriter tokens;
    DatasetWriter offsets;
    DatasetWriter tokenizer;
    std::vector<std::uint16_t> narrow;   // one row, reused
    AbandonUnfinished unfinished{file};  // destroyed first
};

namespace {

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

}  // namespace

CorpusWriter::CorpusWriter(const std::filesystem::path& path, const Tokenizer& tokenizer,
                           const std::string& source, const std::string& filter, const std::string& licence) {
    storage_ = std::make_unique<Storage>(PartialFile(path), describe(path, tokenizer, source, filter, licence));
    const std::string bytes = tokenizer.to_bytes();
    storage_->tokenizer_size = bytes.size();
    storage_->reserve(0);
    const std::uint64_t begin = 0;
    storage_->offsets.append(std::as_bytes(std::span(&begin, 1)));
    storage_->tokenizer.append(std::as_bytes(std::span(bytes)));
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
    storage.reserve(row.size());
    if (Storage::token_bytes(storage.info.vocabulary_size) == 2) {
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
    sums.tokenizer = storage.tokenizer.finish();
    storage.info.checksum = corpus_schema::checksum(storage.info, sums);
    write_attributes(storage.file.get(), storage.info);
    hdf5::check_hdf5(H5Fflush(storage.file.get(), H5F_SCOPE_LOCAL), what, next);
    hsize_t size = 0;
    hdf5::check_hdf5(H5Fget_filesize(storage.file.get(), &size), what, next);
    hdf5::check_hdf5(storage.file.close(), what, next);
    storage.partial.keep(size);
    return storage.info;
}

}  // namespace trireme
