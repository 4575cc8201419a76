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

struct Form {
    std::string_view begin;
    std::string_view name;
    std::string_view advice;
};

constexpr std::array<Form, 5> unread_forms = {{
    {"\x28\xB5\x2F\xFD", "a zstd", "unpack it with zstd -d, or pack it with gzip"},
    {"\xFD"
     "7zXZ",
     "an xz", "unpack it with xz -d, or pack it with gzip"},
    {"PK\x03\x04", "a zip", "unpack it with unzip"},
    {"PAR1", "a Parquet",
     "write its rows as JSON lines (with pandas or the datasets library: to_json, lines=True)"},
    {"\x89HDF", "an HDF5", "a corpus is used as it is: --corpus FILE"},
}};

void refuse_unread_forms(const std::string& path, std::string_view begin) {
    for (const Form& form : unread_forms)
        if (begin.starts_with(form.begin))
            throw ConfigError(cat(path, " is ", form.name, " file, which is not read; ", form.advice));
}

// Opens an input. It must be a regular file, except for a pipe on standard input, which is known to have a
// writer.
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
    file_.reset(gzdopen(descriptor, "rb"));  // owns the descriptor
    if (!file_) {
        ::close(descriptor);
        throw ResourceError(cat("there is no memory to read ", path_, "; use a machine with more"));
    }
    gzbuffer(file_.get(), buffer_bytes);
    fill();
    refuse_unread_forms(path_, portion());
}

void InputFile::skip_byte_order_mark() {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (portion().starts_with(byte_order_mark)) begin_ += byte_order_mark.size();
}

bool InputFile::next_line(std::string& line, std::uint64_t most) {
    line.clear();
    if (begin_ == end_ && !fill()) return false;
    ++lines_;
    while (true) {
        const char* first = buffer_.data() + begin_;
        const auto* stop = static_cast<const char*>(std::memchr(first, '\n', end_ - begin_));
        const auto length =
            static_cast<std::size_t>((stop == nullptr ? first + (end_ - begin_) : stop) - first);
        if (length > most - line.size())
            throw ConfigError(
                cat(path_, ":", lines_, " is a line of more than ", most,
                    " bytes, which would have to lie in memory as a whole; is it the right file?"));
        line.append(first, length);
        if (stop != nullptr) {
            begin_ += length + 1;
            return true;
        }
        begin_ = end_;
        if (!fill()) return true;
    }
}

std::string InputFile::rest(std::uint64_t most) {
    std::string all;
    do {
        if (end_ - begin_ > most - all.size())
            throw ConfigError(cat(path_, " holds more than ", most,
                                  " bytes, unpacked, and would have to lie in memory as a whole; split it"));
        all.append(buffer_.data() + begin_, end_ - begin_);
        begin_ = end_;
    } while (fill());
    return all;
}

std::size_t InputFile::read(std::uint8_t* bytes, std::size_t count) {
    std::size_t done = 0;
    while (done < count && (begin_ < end_ || fill())) {
        const std::size_t part = std::min(count - done, end_ - begin_);
        std::memcpy(bytes + done, buffer_.data() + begin_, part);
        begin_ += part;
        done += part;
    }
    return done;
}

bool InputFile::is_packed() const { return gzdirect(file_.get()) == 0; }

std::uint64_t InputFile::position() const {
    const auto offset = gzoffset(file_.get());
    return offset < 0 ? 0 : static_cast<std::uint64_t>(offset);
}

bool InputFile::fill() {
    const int count = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    const char* reason = gzerror(file_.get(), &code);
    // A truncated gzip file returns the data that it has, together with Z_BUF_ERROR.
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END))
        throw ConfigError(
            cat(path_, " cannot be read after ", lines_ > 0 ? cat("line ", lines_) : cat("byte ", unpacked_),
                ": it is cut short or damaged (zlib: ", code == Z_ERRNO ? std::strerror(errno) : reason,
                "); copy it again"));
    begin_ = 0;
    end_ = static_cast<std::size_t>(count);
    unpacked_ += end_;
    return count > 0;
}

}  // namespace trireme::data
