// Reads an input file, gzipped or not; zlib detects which.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct gzFile_s;

namespace trireme::data {

// True if `name` is /dev/stdin and a pipe is connected to it.
bool is_standard_input_pipe(const std::string& name);

class InputFile {
public:
    static constexpr std::uint64_t longest_row = std::uint64_t{1} << 30;  // unpacked bytes

    // Throws ConfigError if the file cannot be opened or has an unsupported packed or binary format. Only
    // regular files and a pipe on /dev/stdin are accepted.
    explicit InputFile(const std::filesystem::path& path);

    // These throw ConfigError if the file cannot be read further or would give more than `most` bytes.
    // Reads a line without its '\n'; returns false at the end.
    bool next_line(std::string& line, std::uint64_t most = longest_row);
    // Returns the rest of the file.
    std::string rest(std::uint64_t most);
    // Returns the number of bytes read, which is below `count` only at the end.
    std::size_t read(std::uint8_t* bytes, std::size_t count);

    // The buffered bytes that have not been read: up to 256 KiB. Right after opening, the start of the file.
    std::string_view portion() const { return {buffer_.data() + begin_, end_ - begin_}; }

    // Called at the beginning of a text.
    void skip_byte_order_mark();

    const std::string& path() const { return path_; }
    bool is_packed() const;
    std::uint64_t line_number() const { return lines_; }    // of the last line read, from 1
    std::uint64_t bytes_read() const { return unpacked_; }  // after decompression
    std::uint64_t position() const;                         // consumed bytes of the file itself

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
    std::uint64_t lines_ = 0;
    std::uint64_t unpacked_ = 0;
};

}  // namespace trireme::data
