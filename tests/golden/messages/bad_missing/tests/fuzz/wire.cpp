constexpr Check checks[] = {
    check<runtime::KnownFields>,
};
