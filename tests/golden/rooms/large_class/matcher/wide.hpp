// A class with 17 declarations of members, and 15 are enough.
class Wide final : public Base {
 public:
  Wide() = default;
  [[nodiscard]] bool operator==(const Wide& other) const { return a == other.a; }
  void call(std::function<void(int)> then);
  static constexpr int limit = 3;  // no member of an object
  struct Part {
    int inner = 0;
  };

 private:
  int a = 0, b = (1 + 2);
  std::function<void(int)> c;
  std::vector<int> d{1, 2};
  std::map<std::string, std::function<bool(int, int)>> e = {};
  int f, g;
  int h;
  int i;
  int j;
  int k;
  int l;
  int m;
  int n;
  int o;
  int p;
  int q;
  int r;
  int s;
};
