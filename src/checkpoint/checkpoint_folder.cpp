// Reading a folder step-N.
#include "checkpoint/model_files.hpp"
#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme {
namespace fs = std::filesystem;
namespace {

using namespace checkpoint_schema;

constexpr std::string_view again = "copy the checkpoint again, or use another one";

// The one file that holds the tensors; of a folder whose files are of several saves, none can be trusted.
fs::path only_part(const fs::path& folder) {
    std::vector<std::string> parts = names_in(folder);
    std::erase_if(parts, [](const std::string& name) { return !name.starts_with(part_prefix); });
    if (parts.empty()) throw ConfigError(cat(folder.string(), " has no part (part-*.h5); ", again));
    if (parts.size() > 1)
        throw ConfigError(
            cat(folder.string(), " holds parts of several saves, ", parts[0], " and ", parts[1], "; ", again));
    return folder / parts.front();
}

class PartReader {
public:
    explicit PartReader(const fs::path& path) : path_(path), file_(hdf5::open_read_only(path, again)) {
        const std::string kind = text("format");
        if (kind != format) refuse(cat("is of the kind '", kind, "', not '", format, "'"));
        const std::uint64_t written = number("schema_version");
        if (written > version)
            throw ConfigError(cat(path_.string(), " was written by a newer Trireme (checkpoint schema ",
                                  written, "; this program reads up to ", version, "); use that version"));
        if (path_.filename() != part_file(text("save"), number("part")))
            refuse("is of another save than its name says");
    }

    std::uint64_t number(const char* name) const {
        const auto value = hdf5::read_number(file_.get(), name);
        if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
        return *value;
    }
    std::string text(const char* name) const {
        auto value = hdf5::read_text(file_.get(), name);
        if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
        return std::move(*value);
    }

    std::vector<TensorEntry> entries() const {
        std::vector<TensorEntry> all;
        for (hdf5::Array& array : hdf5::read_arrays(file_.get(), path_, parameters_group, again)) {
            const std::uint64_t end = array.offset + array.bytes();
            TensorEntry entry;
            entry.tensor = {std::move(array.name), array.type, std::move(array.shape), array.offset, end};
            entry.source = array.source;
            entry.sha256 = std::move(array.sha256);
            all.push_back(std::move(entry));
        }
        if (all.size() != number("tensors"))
            refuse(cat("holds ", all.size(), " tensors, not ", number("tensors")));
        return all;
    }

private:
    [[noreturn]] void refuse(const std::string& fault) const {
        throw ConfigError(cat(path_.string(), ' ', fault, "; ", again));
    }

    fs::path path_;
    hdf5::Handle file_;
};

std::string read_recorded(const fs::path& path, const std::string& sha256) {
    std::string bytes = read_small_file(path);
    const std::string found = sha256_hex(bytes);
    if (found != sha256)
        throw ConfigError(cat(path.string(),
                              " is not the one that the checkpoint was written with: its SHA-256 ", "is ",
                              found, ", recorded is ", sha256, "; ", again));
    return bytes;
}

}  // namespace

void verify_model_file(const fs::path& folder) { hdf5::open_read_only(folder / model_file, again); }

ModelFiles open_checkpoint(const fs::path& folder) {
    const fs::path path = only_part(folder);
    const PartReader part(path);
    const fs::path config = folder / config_file;
    const std::string tokenizer_sha256 = part.text(tokenizer_sum);
    ModelFiles files;
    files.place = folder.string();
    files.is_checkpoint = true;
    files.config_text = read_recorded(config, part.text(config_sum));
    files.config = model_from_config_json(files.config_text, config.string());
    files.step = part.number("step");
    if (!tokenizer_sha256.empty()) files.tokenizer = read_recorded(folder / tokenizer_file, tokenizer_sha256);
    files.entries = part.entries();
    files.files.push_back({path.string(), PositionedFile(path)});
    return files;
}

}  // namespace trireme
