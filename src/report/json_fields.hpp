// Fields of a record that may be absent.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace trireme::report {

using Json = nlohmann::json;

// Takes fields by their path: number("/loss/first"). Absent and null are the same: nothing. Throws ConfigError
// where a field is of another kind than asked for, naming `place` ("runs/a/steps.jsonl, line 3").
class JsonFields {
public:
    JsonFields(const Json& record, std::string place) : record_(record), place_(std::move(place)) {}

    std::optional<double> number(const char* path) const;
    std::optional<std::string> text(const char* path) const;
    std::vector<std::string> texts(const char* path) const;  // absent: none
    std::vector<double> numbers(const char* path) const;     // absent: none
    bool is_set(const char* path) const;                     // true or false; absent is false

private:
    const Json* field(const char* path) const;
    [[noreturn]] void refuse(const char* path, const char* kind) const;

    const Json& record_;
    std::string place_;
};

}  // namespace trireme::report
