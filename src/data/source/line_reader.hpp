// The lines of a file, gzipped or not: zlib tells by the content.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct gzFile_s;

namespace trireme {

class LineReader {
public:
    // Throws ConfigError where the file cannot be opened, or is of another packed or binary form.
    explicit LineReader(const std::filesystem::path& path);

    // The next line without its '\n', of any length; false at the end. Throws ConfigError where the file
    // cannot be read on.
    bool next(std::string& line);

    // Everything that is left, as it is.
    std::string rest();

    // The first byte that is no white space among those of the first portion; 0 when there is none. Before
    // next().
    char first_sign();

    std::uint64_t line_number() const { return lines_; }    // of the line that next() gave, from 1
    std::uint64_t bytes_read() const { return unpacked_; }  // after unpacking
    std::uint64_t file_position() const;                    // bytes of the file itself that are consumed

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

}  // namespace trireme
