#include "trireme/records/run_records.hpp"

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "records/step_fields.hpp"
#include "records/summary_fields.hpp"
#include "trireme/base/error.hpp"

namespace trireme::records {
namespace {

using OutputJson = nlohmann::ordered_json;
using InputJson = nlohmann::json;

template <class Record>
OutputJson write_fields(const Record& record);

// Writes the fields of a record, as a visitor of visit_fields() in record_fields.hpp. Omits unset optionals,
// false flags, and empty texts and lists.
class FieldWriter {
public:
    void operator()(const char* name, const std::string& text) { write_if(!text.empty(), name, text); }
    void operator()(const char* name, bool is_set) { write_if(is_set, name, true); }
    void operator()(const char* name, std::size_t number) { field(name) = number; }
    void operator()(const char* name, int number) { field(name) = number; }
    void operator()(const char* name, double number) { field(name) = number; }
    template <class Value>
    void operator()(const char* name, const std::optional<Value>& value) {
        if (value) field(name) = *value;
    }
    template <class Value>
    void operator()(const char* name, const std::vector<Value>& list) {
        write_if(!list.empty(), name, list);
    }
    void operator()(const char* name, const std::vector<config::SlowRank>& records) {
        for (const config::SlowRank& each : records) field(name).push_back(write_fields(each));
    }
    void count(const char* name, const Figure& number) {
        if (number) field(name) = static_cast<std::uint64_t>(*number);
    }
    void constant(const char* name, const auto& value) { field(name) = value; }
    void json(const char* name, const std::string& text) {
        if (!text.empty()) field(name) = OutputJson::parse(text);
    }
    template <class Value>
    void keyword(const char* name, const Value& value, std::type_identity_t<Value> keyword_value,
                 const char* keyword) {
        write_if(value == keyword_value, name, keyword);
    }
    void visit_one_of(const char* name, const char* other, bool is_first, double number) {
        field(is_first ? name : other) = number;
    }

    OutputJson record_json = OutputJson::object();

private:
    // The name "loss/first" stands for the field "first" of the object "loss".
    OutputJson& field(const char* name) {
        const char* const slash = std::strchr(name, '/');
        return slash == nullptr ? record_json[name] : record_json[std::string(name, slash)][slash + 1];
    }
    void write_if(bool is_set, const char* name, const auto& value) {
        if (is_set) field(name) = value;
    }
};

template <class Record>
OutputJson write_fields(const Record& record) {
    FieldWriter writer;
    visit_fields(writer, record);
    return std::move(writer.record_json);
}

// Reads those fields of a record that the JSON has. If a field has another type than its member, `complaint`
// describes the first such field.
class FieldReader {
public:
    explicit FieldReader(const InputJson& json, std::string prefix = {})
        : json_(json), prefix_(std::move(prefix)) {}

    void operator()(const char* name, auto& member) { read_member(find(name), name, member); }
    void count(const char* name, Figure& number) { (*this)(name, number); }
    void constant(const char*, const auto&) {}
    void json(const char* name, std::string& text) {
        if (const InputJson* found = find(name)) text = found->dump();
    }
    template <class Value>
    void keyword(const char* name, Value& value, std::type_identity_t<Value> keyword_value,
                 const char* keyword) {
        const InputJson* found = find(name);
        if (found != nullptr && *found == keyword) value = keyword_value;
    }
    void visit_one_of(const char* name, const char* other, bool& is_first, double& number) {
        is_first = find(other) == nullptr;
        (*this)(is_first ? name : other, number);
    }

    std::string complaint;  // empty if every field has the type of its member

private:
    const InputJson* find(const char* name) const {
        const char* const slash = std::strchr(name, '/');
        if (slash == nullptr) return find(json_, name);
        const InputJson* const object = find(json_, std::string(name, slash));
        return object == nullptr ? nullptr : find(*object, slash + 1);
    }
    static const InputJson* find(const InputJson& json, const std::string& name) {
        const auto found = json.find(name);  // end() if `json` is not an object
        return found == json.end() || found->is_null() ? nullptr : &*found;
    }

    template <class Value>
    void read_member(const InputJson* found, const char* name, std::optional<Value>& member) {
        if (found != nullptr) read_member(found, name, member.emplace());
    }
    template <class Value>
    void read_member(const InputJson* found, const char* name, std::vector<Value>& list) {
        if (found == nullptr) return;
        if (!found->is_array()) return refuse(name, "a list");
        for (const InputJson& each : *found) read_member(&each, name, list.emplace_back());
    }
    void read_member(const InputJson* found, const char* name, config::SlowRank& record) {
        if (!found->is_object()) return refuse(name, "a list of objects");
        FieldReader reader(*found, cat(prefix_, name, "/"));
        visit_fields(reader, record);
        if (complaint.empty()) complaint = reader.complaint;
    }
    void read_member(const InputJson* found, const char* name, std::string& text) {
        read_if(found, name, text, found != nullptr && found->is_string(), "a string");
    }
    void read_member(const InputJson* found, const char* name, bool& value) {
        read_if(found, name, value, found != nullptr && found->is_boolean(), "true or false");
    }
    void read_member(const InputJson* found, const char* name, double& number) {
        read_if(found, name, number, found != nullptr && found->is_number(), "a number");
    }
    void read_member(const InputJson* found, const char* name, std::size_t& number) {
        read_if(found, name, number, found != nullptr && found->is_number_unsigned(), "a whole number");
    }
    void read_member(const InputJson* found, const char* name, int& number) {
        constexpr int max_int = std::numeric_limits<int>::max();
        read_if(found, name, number, found != nullptr && found->is_number_unsigned() && *found <= max_int,
                "a whole number");
    }
    void read_if(const InputJson* found, const char* name, auto& member, bool has_type, const char* type_name) {
        if (has_type) {
            found->get_to(member);
        } else if (found != nullptr) {
            refuse(name, type_name);
        }
    }
    void refuse(const char* name, const char* type_name) {
        if (complaint.empty()) complaint = cat("'", prefix_, name, "' is not ", type_name);
    }

    const InputJson& json_;
    std::string prefix_;  // put before field names in complaints: the name of the object and "/", or empty
};

// Returns the first complaint; empty if every field has the type of its member.
template <class Record>
std::string read_fields(const InputJson& json, Record& record) {
    FieldReader reader(json);
    visit_fields(reader, record);
    return reader.complaint;
}

}  // namespace

template <class Record>
OutputJson to_json(const Record& record) {
    return write_fields(record);
}

template <class Record>
Record read_record(const InputJson& json, const std::string& source) {
    Record record;
    const std::string complaint = read_fields(json, record);
    if (complaint.empty()) return record;
    throw ConfigError(
        cat(source, ": ", complaint, "; the records are damaged, or another version of trireme wrote them"));
}

template <class Record>
std::optional<Record> try_read_record(const InputJson& json) {
    Record record;
    return read_fields(json, record).empty() ? std::optional(std::move(record)) : std::nullopt;
}

template OutputJson to_json(const Manifest&);
template Manifest read_record(const InputJson&, const std::string&);
template OutputJson to_json(const StartLine&);
template StartLine read_record(const InputJson&, const std::string&);
template OutputJson to_json(const StepLine&);
template StepLine read_record(const InputJson&, const std::string&);
template OutputJson to_json(const EvaluationLine&);
template EvaluationLine read_record(const InputJson&, const std::string&);
template OutputJson to_json(const EarlyEnd&);
template EarlyEnd read_record(const InputJson&, const std::string&);
template OutputJson to_json(const Summary&);
template Summary read_record(const InputJson&, const std::string&);
template std::optional<StartLine> try_read_record(const InputJson&);

}  // namespace trireme::records
