// Reads the synthetic sample as a source of rows.
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
        if (made_ == count_) return false;
        const std::string line = synthetic_json_row(seed_, made_++);
        parse_json_row(line, row);
        row.place = cat("synthetic row ", made_);
        bytes_ += line.size();
        return true;
    }
    std::uint64_t bytes_read() const { return bytes_; }
    std::uint64_t position() const { return made_; }

private:
    std::size_t count_;
    std::uint64_t seed_;
    std::uint64_t made_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace trireme::data
