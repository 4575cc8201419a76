// A file's bytes, gzipped or not: zlib tells by the content.
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
    static constexpr std::uint64_t longest_row = std::uint64_t{1} << 30;  // bytes, unpacked, of a row

    // Throws ConfigError where the file cannot be opened, is neither a regular file nor a pipe on /dev/stdin,
    // or is of another packed or binary form.
    explicit InputFile(const std::filesystem::path& path);

    // Throw ConfigError where the file cannot be read on, or would give more than `most` bytes.
    bool next_line(std::string& line, std::uint64_t most = longest_row);  // without its '\n'; false at the end
    std::string rest(std::uint64_t most);                                 // everything that is left
    std::size_t read(std::uint8_t* bytes, std::size_t count);  // how many there were; fewer at the end

    // What lies in the buffer and is not read yet: at the beginning, some 100 KB of the file.
    std::string_view portion() const { return {buffer_.data() + begin_, end_ - begin_}; }

    // At the beginning of a text.
    void skip_byte_order_mark();

    const std::string& path() const { return path_; }
    bool is_packed() const;
    std::uint64_t line_number() const { return lines_; }    // of the line that next_line() gave, from 1
    std::uint64_t bytes_read() const { return unpacked_; }  // after unpacking
    std::uint64_t position() const;                         // bytes of the file itself that are consumed

private:
    struct Close {
        void operator()(gzFile_s* file) const;
    };

    bool fill();  // false at the end of the file

    std::string path_;
    std::unique_ptr<gzFile_s, Close> file_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;  // what is not yet given out: [begin_, end_) of the buffer
    std::size_t end_ = 0;
    std::uint64_t lines_ = 0;
    std::uint64_t unpacked_ = 0;
};

}  // namespace trireme::data
