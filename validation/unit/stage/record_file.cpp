#include "unit/stage/record_file.hpp"

#include <hdf5.h>

#include <filesystem>

#include "trireme/base/error.hpp"

namespace trireme::stage {

RecordFile::RecordFile(const std::string& path)
    : path_(path),
      file_(std::filesystem::exists(path) ? H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT) : -1) {
    if (file_ < 0) throw ResourceError(cat(path, " cannot be read; check it out again, or make it anew"));
}

RecordFile::~RecordFile() { H5Fclose(file_); }

std::int64_t RecordFile::open(const std::string& name) const {
    const hid_t dataset = H5Dopen2(file_, name.c_str(), H5P_DEFAULT);
    if (dataset < 0) throw ResourceError(cat(path_, " has no dataset ", name));
    return dataset;
}

bool RecordFile::has(const std::string& name) const { return H5Lexists(file_, name.c_str(), H5P_DEFAULT) > 0; }

std::string RecordFile::text(const std::string& name) const {
    const hid_t dataset = open(name);
    const hid_t type = H5Dget_type(dataset);
    std::string text(H5Tget_size(type), '\0');
    const herr_t status = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data());
    H5Tclose(type);
    H5Dclose(dataset);
    if (status < 0) throw ResourceError(cat(path_, ": dataset ", name, " cannot be read"));
    return text;
}

std::vector<double> RecordFile::numbers(const std::string& name) const {
    const hid_t dataset = open(name);
    const hid_t space = H5Dget_space(dataset);
    std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    const herr_t status = H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Sclose(space);
    H5Dclose(dataset);
    if (status < 0) throw ResourceError(cat(path_, ": dataset ", name, " cannot be read"));
    return values;
}

std::vector<std::int32_t> RecordFile::integers(const std::string& name) const {
    std::vector<std::int32_t> values;
    for (const double number : numbers(name)) values.push_back(static_cast<std::int32_t>(number));
    return values;
}

NamedNumbers RecordFile::all_in(const std::string& group) const {
    std::vector<std::string> names;
    const auto add = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
        static_cast<std::vector<std::string>*>(list)->emplace_back(name);
        return 0;
    };
    H5Literate_by_name(file_, group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names, H5P_DEFAULT);
    NamedNumbers all;
    for (const std::string& name : names) all[name] = numbers(cat(group, "/", name));
    return all;
}

}  // namespace trireme::stage
