// Read access to the datasets of one HDF5 file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unit/stage/stage_numbers.hpp"

namespace trireme::stage {

class RecordFile {
public:
    // Throws ResourceError if the file cannot be read. So do the functions that read a dataset.
    explicit RecordFile(const std::string& path);
    RecordFile(const RecordFile&) = delete;
    RecordFile& operator=(const RecordFile&) = delete;
    ~RecordFile();

    bool has(const std::string& name) const;
    std::string text(const std::string& name) const;
    std::vector<double> numbers(const std::string& name) const;  // in row-major order
    std::vector<std::int32_t> integers(const std::string& name) const;
    double number(const std::string& name) const { return numbers(name).at(0); }
    NamedNumbers all_in(const std::string& group) const;

private:
    std::int64_t open(const std::string& name) const;

    std::string path_;
    std::int64_t file_;
};

}  // namespace trireme::stage
