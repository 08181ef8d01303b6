package idp;

import static org.springframework.security.config.Customizer.withDefaults;

import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.annotation.Order;
import org.springframework.http.MediaType;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.userdetails.User;
import org.springframework.security.oauth2.server.authorization.OAuth2TokenType;
import org.springframework.security.oauth2.server.authorization.oidc.authentication.OidcClientRegistrationAuthenticationProvider;
import org.springframework.security.oauth2.server.authorization.oidc.authentication.OidcClientRegistrationAuthenticationValidator;
import org.springframework.security.oauth2.server.authorization.token.JwtEncodingContext;
import org.springframework.security.oauth2.server.authorization.token.OAuth2TokenCustomizer;
import org.springframework.security.provisioning.InMemoryUserDetailsManager;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.authentication.LoginUrlAuthenticationEntryPoint;
import org.springframework.security.web.util.matcher.MediaTypeRequestMatcher;

/** Spring Authorization Server as an operator sets it up: OpenID Connect with dynamic registration, and a login page. Clients come as properties. */
@SpringBootApplication
public class SpringIdp {
  public static void main(String[] args) {
    SpringApplication.run(SpringIdp.class, args);
  }

  @Bean
  @Order(1)
  SecurityFilterChain authorizationServer(HttpSecurity http, @Value("${idp.registration-scopes}") boolean acceptsScopes) {
    return http
        .oauth2AuthorizationServer(server -> {
          http.securityMatcher(server.getEndpointsMatcher());
          server.oidc(oidc -> oidc.clientRegistrationEndpoint(registration ->
              registration.authenticationProviders(providers -> {
                if (acceptsScopes) providers.forEach(SpringIdp::acceptScopes);
              })));
        })
        .authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
        .oauth2ResourceServer(resources -> resources.jwt(withDefaults()))
        .exceptionHandling(problems -> problems.defaultAuthenticationEntryPointFor(
            new LoginUrlAuthenticationEntryPoint("/login"), new MediaTypeRequestMatcher(MediaType.TEXT_HTML)))
        .build();
  }

  /** As shipped, a registration with a `scope` is refused. */
  private static void acceptScopes(Object provider) {
    if (!(provider instanceof OidcClientRegistrationAuthenticationProvider registration)) return;
    registration.setAuthenticationValidator(
        OidcClientRegistrationAuthenticationValidator.DEFAULT_REDIRECT_URI_VALIDATOR
            .andThen(OidcClientRegistrationAuthenticationValidator.DEFAULT_POST_LOGOUT_REDIRECT_URI_VALIDATOR)
            .andThen(OidcClientRegistrationAuthenticationValidator.DEFAULT_JWK_SET_URI_VALIDATOR)
            .andThen(OidcClientRegistrationAuthenticationValidator.SIMPLE_SCOPE_VALIDATOR));
  }

  @Bean
  @Order(2)
  SecurityFilterChain login(HttpSecurity http) {
    return http
        .authorizeHttpRequests(requests -> requests.anyRequest().authenticated())
        .formLogin(withDefaults())
        .build();
  }

  /** As shipped, the audience of a token is the client's id. */
  @Bean
  OAuth2TokenCustomizer<JwtEncodingContext> audience(@Value("${idp.audience}") String audience) {
    return context -> {
      if (!audience.isEmpty() && OAuth2TokenType.ACCESS_TOKEN.equals(context.getTokenType())) {
        context.getClaims().audience(List.of(audience));
      }
    };
  }

  @Bean
  InMemoryUserDetailsManager users() {
    return new InMemoryUserDetailsManager(
        User.withUsername("alice").password("{noop}wonder").roles("USER").build(),
        User.withUsername("bob").password("{noop}builder").roles("USER").build());
  }
}
