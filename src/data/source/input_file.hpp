// Reads an input file. zlib detects whether the file is gzipped, and unpacks it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct gzFile_s;

namespace trireme::data {

// Returns true if `name` is /dev/stdin and standard input is a pipe.
bool is_standard_input_pipe(const std::string& name);

class InputFile {
public:
    static constexpr std::uint64_t max_row_bytes = std::uint64_t{1} << 30;  // unpacked bytes

    // Throws ConfigError if the file cannot be opened, or if its first bytes are those of an unsupported format
    // such as zip or Parquet. Accepts regular files, and a pipe on /dev/stdin.
    explicit InputFile(const std::filesystem::path& path);

    // The next three functions throw ConfigError if the file cannot be read further. The first two also throw
    // if their result would have more than `max_bytes` bytes.

    // Reads a line without its '\n'; returns false at the end.
    bool next_line(std::string& line, std::uint64_t max_bytes = max_row_bytes);
    // Reads the rest of the file.
    std::string read_rest(std::uint64_t max_bytes);
    // Reads up to `count` bytes and returns their number, which is below `count` only at the end of the file.
    std::size_t read(std::uint8_t* bytes, std::size_t count);

    // Returns the bytes that are buffered and not yet read, at most 256 KiB. Immediately after opening, these
    // bytes are the beginning of the file.
    std::string_view buffered_text() const { return {buffer_.data() + begin_, end_ - begin_}; }

    // Skips a byte order mark at the beginning of a text file. Must be called before anything is read.
    void skip_byte_order_mark();

    const std::string& path() const { return path_; }
    bool is_gzipped() const;
    std::uint64_t line_number() const { return line_count_; }     // number of the last line read, from 1
    std::uint64_t bytes_read() const { return unpacked_bytes_; }  // after decompression
    std::uint64_t position() const;  // consumed bytes of the file itself; 0 for a pipe

private:
    struct Close {
        void operator()(gzFile_s* file) const;
    };

    bool fill();  // returns false at the end of the file

    std::string path_;
    std::unique_ptr<gzFile_s, Close> file_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;  // unread bytes are [begin_, end_) of the buffer
    std::size_t end_ = 0;
    std::uint64_t line_count_ = 0;
    std::uint64_t unpacked_bytes_ = 0;
};

}  // namespace trireme::data
