#include "data/source/input_file.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::data {
namespace {

constexpr std::size_t buffer_bytes = 1 << 18;

// A file format that Trireme does not read, and the first bytes by which it is recognised.
struct FileSignature {
    std::string_view begin;
    std::string_view name;
    std::string_view advice;
};

constexpr std::array<FileSignature, 5> unsupported_formats = {{
    {"\x28\xB5\x2F\xFD", "a zstd", "unpack it with zstd -d, or pack it with gzip"},
    {"\xFD"
     "7zXZ",
     "an xz", "unpack it with xz -d, or pack it with gzip"},
    {"PK\x03\x04", "a zip", "unpack it with unzip"},
    {"PAR1", "a Parquet",
     "write its rows as JSON lines (with pandas or the datasets library: to_json, lines=True)"},
    {"\x89HDF", "an HDF5", "if it is a corpus, use it directly: --corpus FILE"},
}};

void refuse_unsupported_formats(const std::string& path, std::string_view begin) {
    for (const FileSignature& signature : unsupported_formats)
        if (begin.starts_with(signature.begin))
            throw ConfigError(
                cat(path, " is ", signature.name, " file, which cannot be prepared; ", signature.advice));
}

// Opens an input, which must be a regular file or a pipe on standard input. Other pipes are refused, because
// opening a pipe blocks until the pipe has a writer.
int open_input(const std::filesystem::path& path) {
    if (is_standard_input_pipe(path.string())) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    return open_regular_file(path, "the input");
}

}  // namespace

bool is_standard_input_pipe(const std::string& name) {
    std::error_code ignored;
    return name == "/dev/stdin" && std::filesystem::is_fifo(name, ignored);
}

void InputFile::Close::operator()(gzFile_s* file) const { gzclose(file); }

InputFile::InputFile(const std::filesystem::path& path) : path_(path.string()), buffer_(buffer_bytes) {
    const int descriptor = open_input(path);
    file_.reset(gzdopen(descriptor, "rb"));  // if not null, file_ owns the descriptor
    if (!file_) {
        ::close(descriptor);
        throw ResourceError(cat("there is no memory to read ", path_, "; use a machine with more memory"));
    }
    gzbuffer(file_.get(), buffer_bytes);
    fill();
    refuse_unsupported_formats(path_, buffered_text());
}

void InputFile::skip_byte_order_mark() {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (buffered_text().starts_with(byte_order_mark)) begin_ += byte_order_mark.size();
}

bool InputFile::next_line(std::string& line, std::uint64_t max_bytes) {
    line.clear();
    if (begin_ == end_ && !fill()) return false;
    ++line_count_;
    while (true) {
        const char* first = buffer_.data() + begin_;
        const auto* line_end = static_cast<const char*>(std::memchr(first, '\n', end_ - begin_));
        const auto length =
            static_cast<std::size_t>((line_end == nullptr ? first + (end_ - begin_) : line_end) - first);
        if (length > max_bytes - line.size())
            throw ConfigError(
                cat(path_, ":", line_count_, " is a line of more than ", max_bytes,
                    " bytes, all of which would have to be in memory at once; is it the right file?"));
        line.append(first, length);
        if (line_end != nullptr) {
            begin_ += length + 1;
            return true;
        }
        begin_ = end_;
        if (!fill()) return true;
    }
}

std::string InputFile::read_rest(std::uint64_t max_bytes) {
    std::string text;
    do {
        if (end_ - begin_ > max_bytes - text.size())
            throw ConfigError(
                cat(path_, " holds more than ", max_bytes,
                    " bytes, unpacked, all of which would have to be in memory at once; split the file"));
        text.append(buffer_.data() + begin_, end_ - begin_);
        begin_ = end_;
    } while (fill());
    return text;
}

std::size_t InputFile::read(std::uint8_t* bytes, std::size_t count) {
    std::size_t read_bytes = 0;
    while (read_bytes < count && (begin_ < end_ || fill())) {
        const std::size_t portion_bytes = std::min(count - read_bytes, end_ - begin_);
        std::memcpy(bytes + read_bytes, buffer_.data() + begin_, portion_bytes);
        begin_ += portion_bytes;
        read_bytes += portion_bytes;
    }
    return read_bytes;
}

bool InputFile::is_gzipped() const { return gzdirect(file_.get()) == 0; }

std::uint64_t InputFile::position() const {
    const auto offset = gzoffset(file_.get());
    return offset < 0 ? 0 : static_cast<std::uint64_t>(offset);
}

bool InputFile::fill() {
    const int count = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    const char* reason = gzerror(file_.get(), &code);
    // For a truncated gzip file, zlib returns the data that exists, and the error Z_BUF_ERROR.
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END))
        throw ConfigError(cat(path_, " cannot be read after ",
                              line_count_ > 0 ? cat("line ", line_count_) : cat("byte ", unpacked_bytes_),
                              ": it is cut short or damaged (zlib: ",
                              code == Z_ERRNO ? std::strerror(errno) : reason, "); copy it again"));
    begin_ = 0;
    end_ = static_cast<std::size_t>(count);
    unpacked_bytes_ += end_;
    return count > 0;
}

}  // namespace trireme::data
