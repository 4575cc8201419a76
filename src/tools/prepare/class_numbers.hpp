// The classes of labelled texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trireme/data/source_row.hpp"

namespace trireme {

// Whole numbers are classes as they are; other texts, and true and false, are numbered in the order in which
// they come.
class ClassNumbers {
public:
    explicit ClassNumbers(std::string field) : field_(std::move(field)) {}

    // Sets `label` to the row's class; returns what is wrong with it, or nothing.
    std::string take(const SourceRow& row, std::uint32_t& label);

    const std::vector<std::string>& names() const { return names_; }  // none where classes are numbers

private:
    std::string take_number(const std::string& value, std::uint32_t& label);
    std::string take_name(const std::string& value, std::uint32_t& label);

    std::string field_;
    bool has_numbers_ = false;
    std::map<std::string, std::uint32_t> number_of_;
    std::vector<std::string> names_;
};

}  // namespace trireme
