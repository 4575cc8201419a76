// Reads the synthetic data set as a source of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "data/source/synthetic.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/source_row.hpp"

namespace trireme::data {

class SyntheticRows {
public:
    SyntheticRows(std::size_t count, std::uint64_t seed) : count_(count), seed_(seed) {}

    bool next(SourceRow& row) {
        if (row_count_ == count_) return false;
        const std::string line = make_synthetic_json_row(seed_, row_count_++);
        parse_json_row(line, row);
        row.location = cat("synthetic row ", row_count_);
        bytes_read_ += line.size();
        return true;
    }
    std::uint64_t bytes_read() const { return bytes_read_; }
    std::uint64_t position() const { return row_count_; }  // in rows

private:
    std::size_t count_;  // rows of the data set
    std::uint64_t seed_;
    std::uint64_t row_count_ = 0;  // rows read so far
    std::uint64_t bytes_read_ = 0;
};

}  // namespace trireme::data
